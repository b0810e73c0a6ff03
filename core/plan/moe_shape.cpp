// SPDX-License-Identifier: Apache-2.0
#include "core/plan/moe_shape.h"

#include <algorithm>
#include <cmath>

#include "core/plan/elementwise.h"

namespace plan {
namespace {

std::int64_t scaled(std::int64_t count, double factor) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(count) * factor - 1e-9));
}

/// Of `groups` equal groups of experts, how many a token meets: groups (1 - C(E - E/groups, k) / C(E, k)).
double groups_visited(int experts, int top_k, int groups) {
  const int others = experts - experts / groups;
  double none = 1;  // chance that no chosen expert is in a given group
  for (int i = 0; i < top_k; ++i) none *= std::max(0.0, static_cast<double>(others - i) / (experts - i));
  return groups * (1 - none);
}

}  // namespace

MoeShape::MoeShape(const Context& c) {
  const spec::Moe& moe = *c.model.moe;
  const spec::Strategy& s = c.strategy;
  tokens = c.shard_tokens;
  if (s.moe_capacity_factor) {
    copies = moe.experts * scaled(tokens * moe.top_k, *s.moe_capacity_factor / moe.experts);
    received = copies;
  } else {
    copies = tokens * moe.top_k;
    received = s.ep > 1 ? scaled(copies, s.moe_imbalance) : copies;
    counted_by_host = true;
  }
  rows = received * s.etp;
  experts = std::clamp<std::int64_t>(rows, 1, moe.experts / s.ep);
  rows_per_expert = (rows + experts - 1) / experts;
  ffn = moe.ffn / s.etp;
  up_width = c.model.gated_mlp ? 2 * ffn : ffn;
  shared_ffn = moe.shared_ffn / c.tp;
  shared_up_width = c.model.gated_mlp ? 2 * shared_ffn : shared_ffn;
  dispatch_element = combine_element = c.element;
  const int domains = std::max(1, c.group(Axis::ep).domains);
  ranks_visited = groups_visited(moe.experts, moe.top_k, s.ep);
  domains_visited = moe.experts % domains == 0 ? groups_visited(moe.experts, moe.top_k, domains)
                                               : std::min<double>(domains, moe.top_k);
}

std::int64_t expert_parameters(const Context& c) {
  const MoeShape shape(c);
  return c.hidden * (shape.up_width + shape.ffn) + (c.model.bias ? shape.up_width + c.hidden : 0);
}

std::int64_t shared_expert_parameters(const Context& c) {
  const MoeShape shape(c);
  if (shape.shared_ffn == 0) return 0;
  return c.hidden * (shape.shared_up_width + shape.shared_ffn) + (c.model.bias ? shape.shared_up_width + c.hidden : 0);
}

MoeActivations moe_activations(const Context& c) {
  const MoeShape shape(c);
  MoeActivations out;
  const bool eager = c.model.gated_mlp && !c.fused_activation;
  // For each token and expert a probability in fp32 and whether it was chosen; for each copy its weight (fp32) and its
  // place (int32) before and behind the exchange.
  out.routing = shape.tokens * c.model.moe->experts * 5 + shape.copies * 8 + shape.rows * 8;
  out.inputs = shape.rows * c.hidden * c.element;
  const auto around = [&](std::int64_t rows, std::int64_t up, std::int64_t ffn) {
    return rows * (up * activation_input_element(c) + (eager ? 2 : 1) * ffn * c.element);
  };
  out.feed_forward = around(shape.rows, shape.up_width, shape.ffn);
  out.shared = around(c.tokens, shape.shared_up_width, shape.shared_ffn);
  return out;
}

std::int64_t moe_exchange_bytes(const Context& c) {
  const MoeShape shape(c);
  return (shape.copies + (c.strategy.ep > 1 || c.strategy.etp > 1 ? shape.rows : 0)) * c.hidden * c.element;
}

}  // namespace plan
