// SPDX-License-Identifier: Apache-2.0
#include "core/plan/autocast.h"

#include <algorithm>
#include <string>

#include "core/plan/multi_token.h"
#include "core/plan/recurrent.h"
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

std::int64_t cast_bytes(const Linear& linear) {
  return kNarrow * (linear.in * linear.out + (linear.bias ? linear.out : 0));
}

std::int64_t table_cast(const Context& c) { return cast_bytes({"output head", c.hidden, c.vocab, c.model.head_bias}); }

std::int64_t feed_forward_casts(const Context& c, spec::LayerParts parts) {
  return parts.has_dense() ? cast_bytes(up_linear(c)) + cast_bytes(down_linear(c)) : 0;
}

void write(SegmentBuilder& out, const Linear& linear, const char* what, const Chain& casts) {
  out.compute(casts.work, std::string(linear.name) + ' ' + what, casts.launches);
}

}  // namespace

Chain stream_norm_forward(const Context& c, std::int64_t tokens) {
  if (!joins_casts(c)) return norm_forward(c, tokens * c.hidden, c.hidden, c.stream);
  return chain(Kind::norm, tokens * c.hidden, kWide, kNarrow, 1);  // for all that read it
}

Chain stream_norm_backward(const Context& c, std::int64_t tokens) {
  if (!joins_casts(c)) return norm_backward(c, tokens * c.hidden, c.hidden, c.stream);
  const double pace = c.job.framework.norm_backward;
  return chain(Kind::norm, tokens * c.hidden, pace * (kNarrow + kWide), pace * kWide, 2);
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

std::int64_t block_casts(const Context& c, spec::LayerParts parts) {
  if (!c.autocast) return 0;
  const std::int64_t feed_forward = feed_forward_casts(c, parts);
  if (parts.attends()) return feed_forward + cast_bytes(qkv_linear(c)) + cast_bytes(proj_linear(c));
  if (parts.recurs()) return feed_forward + cast_bytes(recurrent_in(c)) + cast_bytes(recurrent_out(c));
  return feed_forward;
}

std::int64_t recast_in_block(const Context& c, spec::Recompute::Kind kind, spec::LayerParts parts) {
  if (!c.autocast) return 0;
  if (kind == spec::Recompute::Kind::full) return block_casts(c, parts);
  const bool modules = kind == spec::Recompute::Kind::selective;
  return modules && c.strategy.recompute.modules.mlp ? feed_forward_casts(c, parts) : 0;
}

std::int64_t head_casts(const Context& c) {
  if (!c.autocast) return 0;
  return table_cast(c) + c.model.module_copies() * cast_bytes(multi_token_projection(c));
}

std::int64_t unkept_head_casts(const Context& c) { return c.autocast && c.chunked_loss ? table_cast(c) : 0; }

}  // namespace plan
