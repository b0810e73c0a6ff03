// sim/search/draft_exchanges.cpp -- what a draft's data-parallel axis exchanges beside the passes, and when.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "core/plan/data_parallel.h"
#include "sim/search/two_level.h"

namespace sim {

/// Whether inputs and collectives of that axis have a link in common.
bool Draft::meets_transfers(plan::Axis axis) const {
  const plan::GroupShape group = c_.group(axis);
  return group.size > 1 && (c_.stage_transfer.crosses_domain ? group.domains > 1 : group.per_domain > 1);
}

Exchange Draft::exchange_of(const plan::Plan& plan, const plan::Operator& op, double share) {
  const plan::Work& work = plan.works[op.work];
  const auto* collective = std::get_if<plan::Collective>(&work);
  return {share, prices_.of(work).si(), collective != nullptr ? collective->group.size : 1, op.stream};
}

/// Those that `write` writes.
template <class Write>
std::vector<Exchange> Draft::exchanges(Write write) {
  plan::Plan plan;
  plan::Pool pool(plan);
  plan::SegmentBuilder pen(pool, "");
  write(pen);
  std::vector<Exchange> out;
  for (const plan::Operator& op : pen.written()) out.push_back(exchange_of(plan, op, 0));
  return out;
}

std::vector<Exchange> Draft::gathers_of(const plan::Chunk& chunk, bool bucketed) {
  std::vector<Exchange> out;
  if (c_.strategy.zero == 0 || !c_.overlap_param_gather) return out;
  const int layers = chunk.layers, group = layers == 0 ? 1 : plan::layers_a_gather(c_, chunk, bucketed);
  for (int first = 0; first == 0 || first < layers; first += group) {
    const int count = std::min(group, layers - first);
    plan::Held held;
    for (int i = 0; i < count; ++i) held += plan::layer_parameters(c_, chunk.first_layer + first + i);
    if (first == 0 && chunk.first) held.dense += plan::embedding_parameters(c_);
    if (first + count == layers && chunk.last) held += plan::last_parameters(c_);
    const double share = layers == 0 ? 1 : static_cast<double>(first + count) / layers;
    Exchange gather{.share = share};
    for (const Exchange& one : exchanges([&](auto& pen) { plan::gather_parameters(c_, pen, held, false); })) {
      if (gather.time == 0) gather.ranks = one.ranks;  // the others find nobody late
      gather.time += one.time;
    }
    out.push_back(gather);
  }
  return out;
}

std::vector<Exchange> Draft::reductions_of(const plan::Chunk& chunk, bool bucketed) {
  std::vector<Exchange> out;
  if (!c_.overlap_grad_reduce) return out;
  plan::Plan plan;
  plan::Pool pool(plan);
  plan::SegmentBuilder pen(pool, "");
  plan::GradientBuckets buckets(c_, pen, {.by_size = bucketed});
  std::size_t noted = 0;
  const auto note = [&](double share) {  // what the buckets have sent by now, but for copies into them
    for (; noted < pen.written().size(); ++noted) {
      const plan::Operator& op = pen.written()[noted];
      if (op.stream != plan::Stream::compute) out.push_back(exchange_of(plan, op, share));
    }
  };
  if (chunk.last) buckets.add(plan::last_parameters(c_));
  note(0);
  for (int i = chunk.layers - 1; i >= 0; --i) {
    buckets.add(plan::layer_parameters(c_, chunk.first_layer + i));
    note(static_cast<double>(chunk.layers - i) / chunk.layers);
  }
  if (chunk.first) buckets.add({plan::embedding_parameters(c_) - plan::late_table(c_), 0});
  buckets.flush();
  note(1);
  return out;
}

}  // namespace sim
