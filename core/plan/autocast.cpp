// SPDX-License-Identifier: Apache-2.0
#include "core/plan/autocast.h"

#include <algorithm>
#include <string>

#include "core/plan/tensor_parallel.h"

namespace plan {
namespace {

using Kind = MemoryBound::Kind;

constexpr std::int64_t kWide = 4, kNarrow = 2;  // bytes of fp32, and of either 16-bit format

/// Matmuls of one input.
int parts_of(const Linear& linear) {
  if (linear.parts[0] == 0) return 1;
  return static_cast<int>(
      std::count_if(linear.parts.begin(), linear.parts.end(), [](std::int64_t width) { return width > 0; }));
}

/// Whether a graph compiler makes the casts of activations part of the kernels beside them.
bool joins_casts(const Context& c) { return c.autocast && c.strategy.compile; }
/// Or whether they are kernels of their own.
bool casts_alone(const Context& c) { return c.autocast && !c.strategy.compile; }

void write(SegmentBuilder& out, const Linear& linear, const char* what, const Chain& casts) {
  out.compute(casts.work, std::string(linear.name) + ' ' + what, casts.launches);
}

}  // namespace

Chain stream_norm_forward(const Context& c, std::int64_t elements) {
  if (!joins_casts(c)) return norm_forward(c, elements, c.stream);
  return chain(Kind::norm, elements, kWide, kNarrow, 1);  // for all that read it
}

Chain stream_norm_backward(const Context& c, std::int64_t elements) {
  if (!joins_casts(c)) return norm_backward(c, elements, c.stream);
  const double pace = c.job.framework.norm_backward;
  return chain(Kind::norm, elements, pace * (kNarrow + kWide), pace * kWide, 2);
}

std::int64_t kept_by_stream_norm(const Context& c) {
  if (!eager_norm(c)) return c.stream;  // its input
  return kWide + c.stream;              // in fp32, for the square; and the normed one
}

int casts_of_input(const Context& c, const Linear& linear) { return casts_alone(c) ? parts_of(linear) : 1; }

void cast_weight(const Context& c, SegmentBuilder& out, const Linear& linear) {
  if (!c.autocast) return;
  const int tensors = parts_of(linear) * (linear.bias ? 2 : 1);
  write(out, linear, "weight cast", chain(Kind::copy, linear.in * linear.out, kWide, kNarrow, tensors));
}

void cast_input(const Context& c, SegmentBuilder& out, const Linear& linear, std::int64_t elements) {
  if (!casts_alone(c)) return;
  const int parts = parts_of(linear);
  write(out, linear, "input cast", chain(Kind::elementwise, parts * elements, kWide, kNarrow, parts));
}

void cast_input_gradient(const Context& c, SegmentBuilder& out, const Linear& linear, std::int64_t elements) {
  if (!casts_alone(c)) return;
  const int parts = parts_of(linear);
  write(out, linear, "input gradient cast", chain(Kind::elementwise, parts * elements, kNarrow, kWide, parts));
}

}  // namespace plan
