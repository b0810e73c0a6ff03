// real/executor/forgetting.cpp -- when the executor lets tensors go at the latest, and in the first step: what a
// backward computes again behind the forward of its layer, a layer's tensors behind its backward, a pass's behind its
// last call (steps behind the first are told by values.h); in every step gathered parameters where the Plan gives them
// back. SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "real/executor/executor.h"

namespace real {

void Executor::find_last_calls() {
  const auto& calls = rank_.role().calls;
  for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
    last_call_of_[{calls[i].chunk, calls[i].microbatch}] = i;
    if (calls[i].other >= 0) last_call_of_[{calls[i].other_chunk, calls[i].other}] = i;
  }
}

/// Full recomputation keeps nothing of a layer: what it does not compute again nothing reads.
void Executor::find_remade() {
  const bool full = rank_.job.strategy.recompute.kind == spec::Recompute::Kind::full;
  const auto each = [&](plan::Phase phase, auto visit) {
    for (const plan::Call& call : rank_.role().calls) {
      for (const plan::Operator& op : rank_.plan.segments[call.segment].operators) {
        if (op.phase == phase) visit(layer_of(rank_, op), op.name);
      }
    }
  };
  std::set<std::int16_t> layers;
  each(plan::Phase::recompute, [&](std::int16_t layer, std::int32_t name) {
    rank_.remade.insert({layer, name});
    layers.insert(layer);
  });
  if (!full) return;
  each(plan::Phase::forward, [&](std::int16_t layer, std::int32_t name) {
    if (layers.contains(layer)) rank_.remade.insert({layer, name});
  });
}

/// Of forwards apart, for a pass may be of two microbatches.
void Executor::find_last_of_layers() {
  for (const plan::Call& call : rank_.role().calls) {
    std::vector<bool>& last = last_of_layer_[call.segment];
    const auto& operators = rank_.plan.segments[call.segment].operators;
    last.assign(operators.size(), false);
    std::set<std::pair<std::int16_t, bool>> behind;
    for (std::size_t at = operators.size(); at-- > 0;) {
      const plan::Operator& op = operators[at];
      if (op.layer >= 0) last[at] = behind.insert({layer_of(rank_, op), op.phase == plan::Phase::forward}).second;
    }
  }
}

void Executor::forget_all() {
  rank_.values.clear();
  rank_.on_host.clear();
  rank_.covered.clear();
  rank_.gathered.clear();
  rank_.routings.clear();
}

/// Whether anything reads behind this call what a microbatch left.
bool Executor::is_last(int number, std::int16_t chunk, std::int32_t microbatch) const {
  return last_call_of_.at({chunk, microbatch}) == number;
}

/// What a backward computes again is not kept by the forward; what a layer's tensors were is not read behind the last
/// operator of its backward. What is left of the ends of the model and of what flows between layers stays until the
/// pass ends.
void Executor::leave_layer(const Task& task, int number, int at) {
  if (!last_of_layer_.at(task.call.segment)[static_cast<std::size_t>(at)]) return;
  const Site site = task.site;
  const bool backward = task.op.phase != plan::Phase::forward;
  if (backward && rank_.has_flush()) {
    const bool other = task.call.other >= 0;
    if (!is_last(number, site.chunk, other ? task.call.other : task.call.microbatch)) return;
  }
  rank_.values.erase_if(site, [&](const std::string& name, const Value& value) {
    return backward || made_again(rank_, site, name, value);
  });
}

/// Zero 3: where the Plan gives back the memory of a unit's parameters, they are gone.
void Executor::release_units(const plan::Call& call, const plan::Segment& segment, int at) {
  if (!rank_.c.fully_sharded || rank_.gathered.empty()) return;
  for (const plan::MemoryChange& change : segment.memory) {
    if (change.at != at || !change.after || change.category != plan::Category::parameters || change.bytes >= 0)
      continue;
    const plan::Operator& op = segment.operators[at];
    const Site site = site_of(rank_, call, op);
    auto unit = rank_.gathered.end();
    for (auto i = rank_.gathered.begin(); i != rank_.gathered.end(); ++i) {
      if (i->first.first != site.chunk || i->second.bytes != -change.bytes) continue;
      const bool before = i->first.second <= op.layer;
      if (unit == rank_.gathered.end() || before) unit = i;  // the nearest at or before this layer
    }
    if (unit == rank_.gathered.end()) throw std::logic_error("the Plan releases parameters that it did not gather");
    for (Parameter* p : unit->second.parameters) p->weight = {};
    rank_.gathered.erase(unit);
  }
}

}  // namespace real
