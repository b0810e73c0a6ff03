// SPDX-License-Identifier: Apache-2.0
#include "real/executor/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace real {

Actions all_actions() {
  Actions actions;
  for (const auto add : {add_linear_actions, add_narrow_actions, add_adapter_actions, add_norm_actions,
                         add_block_actions, add_attention_actions, add_latent_actions, add_end_actions,
                         add_edge_actions, add_data_parallel_actions, add_step_actions, add_context_parallel_actions,
                         add_expert_actions, add_activation_offload_actions, add_optimizer_offload_actions}) {
    add(actions);
  }
  return actions;
}

Executor::Executor(const spec::Job& job, const plan::Plan& plan, int rank, Backend& backend, const Tokens& tokens,
                   const Settings& settings)
    : rank_(job, plan, rank, backend, tokens, settings) {
  if (const std::vector<base::Fault> faults = unsupported(job, plan); !faults.empty()) throw base::InputError(faults);
  const Actions actions = all_actions();
  for (const std::string& name : plan.names) actions_.push_back(actions.at(name));
  find_last_calls();
  find_remade();
  start_parameters();
}

namespace {

void states_to_host(Backend& backend, Parameter& p) {
  if (p.sharded) {
    p.shard.tensor = backend.allocate(p.owned.length, kWeight);
    backend.copy(p.master.tensor, p.shard.tensor);
  }
  for (Value* state : {&p.master, &p.m, &p.v}) state->tensor = backend.to_host(state->tensor);
}

}  // namespace

void Executor::start_parameters() {
  const auto zeros = [&](Value& value, std::int64_t count, Purpose purpose) {
    value.tensor = rank_.backend.allocate(count, purpose);
    rank_.backend.fill(value.tensor, 0);
  };
  for (Parameter& p : rank_.parameters.all()) {
    const Tensor whole = rank_.backend.upload(starting_values(p, rank_.settings.seed));
    const bool gathered = rank_.c.fully_sharded && p.sharded;
    if (!p.frozen || gathered) {
      p.master.tensor = rank_.backend.allocate(p.owned.length, p.frozen ? kWeight : kState);
      rank_.backend.copy(whole.part(p.owned.begin, p.owned.length), p.master.tensor);
    }
    if (!gathered) {
      p.weight.tensor = rank_.backend.allocate(p.count(), kWeight);
      rank_.backend.copy(whole, p.weight.tensor);
    }
    if (p.frozen) continue;
    if (!rank_.c.scatters_gradients || !p.reduced_apart) zeros(p.gradient, p.count(), kGradient);
    if (p.reduced_apart) zeros(p.reduced, p.owned.length, kGradient);
    zeros(p.m, p.owned.length, kState);
    zeros(p.v, p.owned.length, kState);
    if (rank_.c.strategy.offload.updates_on_host()) states_to_host(rank_.backend, p);
  }
}

void Executor::find_last_calls() {
  const auto& calls = rank_.role().calls;
  for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
    last_call_of_[{calls[i].chunk, calls[i].microbatch}] = i;
    if (calls[i].other >= 0) last_call_of_[{calls[i].other_chunk, calls[i].other}] = i;
  }
}

void Executor::find_remade() {
  for (const plan::Call& call : rank_.role().calls) {
    for (const plan::Operator& op : rank_.plan.segments[call.segment].operators) {
      if (op.phase == plan::Phase::recompute) rank_.remade.insert({op.layer, op.name});
    }
  }
}

void Executor::begin_step() {
  if (!rank_.plan.rolling) rank_.order.wait_for_all();
  rank_.values.clear();
  rank_.on_host.clear();
  rank_.covered.clear();
  rank_.gathered.clear();
  rank_.routings.clear();
  for (auto& [operand, magnitudes] : rank_.magnitudes) magnitudes = {{}, magnitudes.now};
  rank_.loss = {};
  rank_.loss.tensor = rank_.backend.allocate(rank_.c.tokens, kNumbers);
  rank_.backend.fill(rank_.loss.tensor, 0);
}

StepResult Executor::step() {
  begin_step();
  const int calls = static_cast<int>(rank_.role().calls.size());
  for (int call = 0; call < calls; ++call) run(call);
  rank_.backend.synchronize();
  ++rank_.step;
  StepResult result;
  if (rank_.place.tp() == 0) {
    const std::vector<double> losses = rank_.backend.download(rank_.loss.tensor);
    result.loss = std::accumulate(losses.begin(), losses.end(), 0.0);
  }
  result.gradient_norm = NAN;
  if (rank_.c.barrier) result.gradient_norm = std::sqrt(rank_.backend.download(rank_.norm.tensor).front());
  return result;
}

void Executor::run(int number) {
  const plan::Call& call = rank_.role().calls[number];
  const plan::Segment& segment = rank_.plan.segments[call.segment];
  rank_.cursors.clear();
  pass_on(call);
  forget_recomputed(call);
  for (int at = 0; at < static_cast<int>(segment.operators.size()); ++at) {
    run(number, at);
    release_units(call, segment, at);
  }
  const auto forget = [&](std::int16_t chunk, std::int32_t microbatch) {
    if (microbatch >= 0 && last_call_of_.at({chunk, microbatch}) == number) rank_.values.forget(chunk, microbatch);
  };
  forget(call.chunk, call.microbatch);
  forget(call.other_chunk, call.other);
}

void Executor::run(int number, int at) {
  Task task(rank_, number, at);
  rank_.order.begin(task.op, {number, at});
  rank_.backend.begin(task.op.stream, task.op.waits);
  try {
    actions_[task.op.name](task);
  } catch (const base::DeviceError& error) {
    throw base::DeviceError(fmt::format("{}: {}", describe(rank_, {number, at}), error.what()));
  }
  rank_.backend.record(plan::event_of(task.op.stream));
  if (task.op.records >= 0) rank_.backend.record(task.op.records);
  rank_.order.end();
}

/// Between two chunks of one stage nothing is sent: what one leaves, the other finds.
void Executor::pass_on(const plan::Call& call) {
  const int stage = rank_.place.stage();
  const auto pass = [&](std::int16_t chunk, std::int32_t microbatch, bool backward) {
    if (microbatch < 0) return;
    const plan::Placement& placement = rank_.c.placement;
    const int from = backward ? placement.behind(stage, chunk) : placement.before(stage, chunk);
    if (from != stage) return;
    const char* name = backward ? "gradient stream" : "stream";
    const auto other = static_cast<std::int16_t>(backward ? chunk + 1 : chunk - 1);
    Value* left = rank_.values.find({other, microbatch, -1}, name);
    if (left != nullptr && rank_.values.find({chunk, microbatch, -1}, name) == nullptr) {
      rank_.values.at({chunk, microbatch, -1}, name) = *left;
    }
  };
  pass(call.chunk, call.microbatch, false);
  pass(call.chunk, call.microbatch, true);
  pass(call.other_chunk, call.other, true);
}

/// What a backward computes again was not kept by its forward.
void Executor::forget_recomputed(const plan::Call& call) {
  const auto& operators = rank_.plan.segments[call.segment].operators;
  const auto recomputes = [](const plan::Operator& op) { return op.phase == plan::Phase::recompute; };
  if (std::ranges::none_of(operators, recomputes)) return;
  const bool other = call.other >= 0;
  rank_.values.erase_if(other ? call.other_chunk : call.chunk, other ? call.other : call.microbatch,
                        [&](const Site& site, const std::string& name, const Value& value) {
                          return made_again(rank_, site, name, value);
                        });
}

/// Zero 3: where the Plan gives back the memory of a unit's parameters, they are gone.
void Executor::release_units(const plan::Call& call, const plan::Segment& segment, int at) {
  if (!rank_.c.fully_sharded || rank_.gathered.empty()) return;
  for (const plan::MemoryChange& change : segment.memory) {
    if (change.at != at || !change.after || change.category != plan::Category::parameters || change.bytes >= 0)
      continue;
    const std::int16_t layer = segment.operators[at].layer;
    auto unit = rank_.gathered.end();
    for (auto i = rank_.gathered.begin(); i != rank_.gathered.end(); ++i) {
      if (i->first.first != call.chunk || i->second.bytes != -change.bytes) continue;
      if (unit == rank_.gathered.end() || i->first.second <= layer) unit = i;  // the nearest at or before this layer
    }
    if (unit == rank_.gathered.end()) throw std::logic_error("the Plan releases parameters that it did not gather");
    for (Parameter* p : unit->second.parameters) p->weight = {};
    rank_.gathered.erase(unit);
  }
}

}  // namespace real
