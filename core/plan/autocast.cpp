// SPDX-License-Identifier: Apache-2.0
#include "core/plan/autocast.h"

#include <algorithm>
#include <string>

#include "core/plan/tensor_parallel.h"

namespace plan {
namespace {

using Kind = MemoryBound::Kind;

constexpr std::int64_t kWide = 4, kNarrow = 2;  // bytes of fp32, and of either 16-bit format

Chain chain(Kind kind, std::int64_t elements, double read, double written, int kernels) {
  const auto bytes = [&](double each) { return static_cast<std::int64_t>(each * static_cast<double>(elements)); };
  return {MemoryBound{kind, bytes(read), bytes(written), kernels}, kernels};
}

/// Matmuls of one input.
int parts_of(const Linear& linear) {
  if (linear.parts[0] == 0) return 1;
  return static_cast<int>(
      std::count_if(linear.parts.begin(), linear.parts.end(), [](std::int64_t width) { return width > 0; }));
}

bool is_chain(const Context& c) { return !c.fused_norm && c.model.norm == spec::Norm::rmsnorm; }

void write(SegmentBuilder& out, const Linear& linear, const char* what, const Chain& casts) {
  out.compute(casts.work, std::string(linear.name) + ' ' + what, casts.launches);
}

}  // namespace

Chain stream_norm_forward(const Context& c, std::int64_t elements) {
  if (!c.autocast) return norm_forward(c, elements);
  if (c.strategy.compile) return chain(Kind::norm, elements, kWide, kNarrow, 1);  // which casts for all that read it
  if (is_chain(c)) return chain(Kind::eager_norm, elements, 16, 12, 5);           // square, mean, scale, weight
  return chain(Kind::norm, elements, kWide, kWide, 1);
}

Chain stream_norm_backward(const Context& c, std::int64_t elements) {
  if (!c.autocast) return norm_backward(c, elements);
  if (is_chain(c) && !c.strategy.compile) return chain(Kind::eager_norm, elements, 56, 36, 12);  // norm_backward()'s
  const double pace = c.job.framework.norm_backward;
  const double gradient = c.strategy.compile ? kNarrow : kWide;
  return chain(Kind::norm, elements, pace * (gradient + kWide), pace * kWide, 2);
}

std::int64_t kept_by_stream_norm(const Context& c) {
  if (!is_chain(c)) return c.stream;                  // its input
  return c.autocast ? 2 * kWide : kWide + c.element;  // in fp32, for the square; and the normed one
}

int casts_of_input(const Context& c, const Linear& linear) {
  return c.autocast && !c.strategy.compile ? parts_of(linear) : 1;
}

void cast_weight(const Context& c, SegmentBuilder& out, const Linear& linear) {
  if (!c.autocast) return;
  const int tensors = parts_of(linear) * (linear.bias ? 2 : 1);
  write(out, linear, "weight cast", chain(Kind::copy, linear.in * linear.out, kWide, kNarrow, tensors));
}

void cast_input(const Context& c, SegmentBuilder& out, const Linear& linear, std::int64_t elements) {
  if (!c.autocast || c.strategy.compile) return;
  const int parts = parts_of(linear);
  write(out, linear, "input cast", chain(Kind::elementwise, parts * elements, kWide, kNarrow, parts));
}

void cast_input_gradient(const Context& c, SegmentBuilder& out, const Linear& linear, std::int64_t elements) {
  if (!c.autocast || c.strategy.compile) return;
  const int parts = parts_of(linear);
  write(out, linear, "input gradient cast", chain(Kind::elementwise, parts * elements, kNarrow, kWide, parts));
}

}  // namespace plan
