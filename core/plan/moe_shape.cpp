// SPDX-License-Identifier: Apache-2.0
#include "core/plan/moe_shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/plan/elementwise.h"

namespace plan {
namespace {

std::int64_t scaled(std::int64_t count, double factor) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(count) * factor - 1e-9));
}

/// Of one rank's experts those that any of `tokens`, which lie on all ranks that share them, has chosen: an
/// expectation, where each chooses top_k different ones evenly, or their number where these are dealt out in turn.
std::int64_t chosen_experts(const spec::Moe& moe, const spec::Strategy& s, std::int64_t tokens) {
  const double all = moe.experts, chosen = static_cast<double>(moe.top_k) / all;
  const double met = s.moe_round_robin ? std::min(1.0, chosen * static_cast<double>(tokens))
                                       : 1 - std::pow(1 - chosen, static_cast<double>(tokens));
  return std::max<std::int64_t>(1, std::llround(all / s.ep * met));
}

}  // namespace

std::int64_t room_for(const spec::Moe& moe, double factor, std::int64_t copies) {
  return moe.experts * scaled(copies, factor / moe.experts);
}

KeptChoices kept_choices(const spec::Strategy& s, const spec::Moe& moe, double room) {
  KeptChoices out{std::min(room, 1.0), std::min(room, 1.0)};
  const double chosen = std::accumulate(s.moe_routing.begin(), s.moe_routing.end(), 0.0);
  if (!(chosen > 0)) return out;
  out = {};
  const std::size_t each = s.moe_routing.size() / s.ep;
  for (int rank = 0; rank < s.ep; ++rank) {
    double of_rank = 0;
    for (std::size_t expert = rank * each; expert < (rank + 1) * each; ++expert)
      of_rank += std::min(s.moe_routing[expert] / chosen, room / moe.experts);
    out.all += of_rank;
    out.fullest = std::max(out.fullest, of_rank * s.ep);
  }
  return out;
}

bool counts_behind_rows(const Context& c) {
  const bool plain = c.strategy.ep == 1 || c.strategy.moe_dispatcher == spec::MoeDispatcher::alltoall;
  return plain && c.job.framework.counts_behind_rows;
}

MoeShape::MoeShape(const Context& c) {
  const spec::Moe& moe = *c.model.moe;
  const spec::Strategy& s = c.strategy;
  tokens = c.shard_tokens;
  copies = tokens * moe.top_k;
  received = s.ep > 1 && !s.pads_experts() ? scaled(copies, s.moe_imbalance) : copies;
  if (s.moe_capacity_factor) {
    const std::int64_t room = room_for(moe, *s.moe_capacity_factor, copies);
    capacity = room / moe.experts;
    copies = s.pads_experts() ? room : std::min(copies, room);
    const std::int64_t chosen = tokens * moe.top_k;
    if (s.pads_experts()) {
      received = room;
    } else if (s.moe_routing.empty()) {
      received = std::min(received, room);
    } else {
      const double share = static_cast<double>(room) / static_cast<double>(chosen);
      received = scaled(chosen, kept_choices(s, moe, share).fullest);
    }
  }
  // Grouped matmuls take counts on the device; exchanges need them on the host.
  counted_by_host = !s.pads_experts() && !(counts_behind_rows(c) && s.ep == 1);
  rows = received * s.etp;
  experts = s.pads_experts() ? moe.experts / s.ep : chosen_experts(moe, s, tokens * s.ep * s.etp);
  rows_per_expert = (rows + experts - 1) / experts;
  width = c.model.expert_width();
  ffn = moe.ffn / s.etp;
  up_width = c.model.gated_mlp ? 2 * ffn : ffn;
  shared_ffn = moe.shared_ffn / c.tp;
  shared_up_width = c.model.gated_mlp ? 2 * shared_ffn : shared_ffn;
  dispatch_element = combine_element = c.element;
}

std::int64_t expert_parameters(const Context& c) {
  const MoeShape shape(c);
  return shape.width * (shape.up_width + shape.ffn) + (c.model.bias ? shape.up_width + shape.width : 0);
}

std::int64_t shared_expert_parameters(const Context& c) {
  const MoeShape shape(c);
  if (shape.shared_ffn == 0) return 0;
  return c.hidden * (shape.shared_up_width + shape.shared_ffn) + (c.model.bias ? shape.shared_up_width + c.hidden : 0);
}

bool copies_first(const Context& c) {
  return c.strategy.moe_dispatcher == spec::MoeDispatcher::alltoall || c.strategy.ep == 1;
}

bool multiplies_rows(const Context& c) {
  return c.job.framework.multiplies_rows && c.strategy.pads_experts() && copies_first(c) && !c.serves;
}

bool compiles_experts(const Context& c) { return c.strategy.compile && c.job.framework.compiles_experts; }

bool weighs_wide(const Context& c) {
  const bool narrow = c.element < 4;  // or nothing is cast
  return narrow && c.job.framework.weighs_in_fp32 && copies_first(c) && !c.fused_permute && !compiles_experts(c);
}

MoeActivations moe_activations(const Context& c) {
  const MoeShape shape(c);
  MoeActivations out;
  // For each token and expert a probability in fp32 and whether it was chosen; for each copy its weight (fp32) and its
  // place (int32) before and behind the exchange.
  out.routing = shape.tokens * c.model.moe->experts * 5 + shape.copies * 8 + shape.rows * 8;
  // Masks of tokens by places, one for the way there and one with weights for the way back.
  if (multiplies_rows(c)) out.routing += 2 * shape.tokens * (shape.copies / c.batch) * c.element;
  out.inputs = shape.rows * shape.width * c.element;
  if (c.model.moe->latent > 0) out.latent = shape.tokens * shape.width * c.element;
  const auto around = [&](std::int64_t rows, std::int64_t up, std::int64_t ffn, int eager) {
    return rows * (up * activation_input_element(c) + (1 + eager) * ffn * c.element);
  };
  const int eager = kept_by_eager_gate(c);
  out.feed_forward = around(shape.rows, shape.up_width, shape.ffn, c.fused_experts ? 0 : eager);
  out.shared = around(c.tokens, shape.shared_up_width, shape.shared_ffn, eager);
  if (!c.fused_permute) {
    const std::int64_t number = weighs_wide(c) ? 4 : c.element;
    out.returned = (copies_first(c) ? shape.copies : shape.received) * shape.width * number;
  }
  return out;
}

std::int64_t moe_exchange_bytes(const Context& c) {
  const MoeShape shape(c);
  const std::int64_t arrived = c.strategy.ep > 1 || c.strategy.etp > 1 ? shape.rows : 0;
  const bool gathers = c.strategy.moe_dispatcher == spec::MoeDispatcher::allgather && !copies_first(c);
  const std::int64_t sent = gathers ? shape.tokens * c.strategy.ep : shape.copies;
  return (sent + arrived) * shape.width * c.element;
}

}  // namespace plan
