// SPDX-License-Identifier: Apache-2.0
#include "real/executor/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "real/executor/actions/spread_vocabulary.h"

namespace real {

Actions all_actions() {
  Actions actions;
  for (const auto add : {add_linear_actions,
                         add_narrow_actions,
                         add_adapter_actions,
                         add_norm_actions,
                         add_block_actions,
                         add_attention_actions,
                         add_copied_heads_actions,
                         add_written_scores_actions,
                         add_latent_actions,
                         add_end_actions,
                         add_vocabulary_actions,
                         add_multi_token_actions,
                         add_edge_actions,
                         add_data_parallel_actions,
                         add_step_actions,
                         add_context_parallel_actions,
                         add_expert_actions,
                         add_activation_offload_actions,
                         add_optimizer_offload_actions,
                         add_parameter_offload_actions,
                         add_drive_actions,
                         add_framework_copies}) {
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
  find_last_of_layers();
  find_remade();
  start_parameters();
}

void Executor::begin_step() {
  if (!rank_.plan.rolling) rank_.order.wait_for_all();
  if (rank_.has_flush()) {
    forget_all();
    rank_.values.learn(rank_.step == 0);
  }
  for (auto& [operand, magnitudes] : rank_.magnitudes) magnitudes = {{}, magnitudes.now, false};
  rank_.loss = {};
  rank_.loss.tensor = rank_.backend.allocate(rank_.c.tokens, kNumbers);
  rank_.backend.fill(rank_.loss.tensor, 0);
}

StepResult Executor::step() {
  begin_step();
  if (rank_.step == 0 && !rank_.has_flush()) fill_pipeline();
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
  rank_.values.begin({number, 0});
  if (rank_.has_flush()) pass_on(call);
  const int operators = static_cast<int>(segment.operators.size());
  for (int at = 0; at < operators; ++at) {
    run(number, at);
    release_units(call, segment, at);
  }
  rank_.values.begin({number, operators});
  if (!rank_.has_flush()) return leave_pass(call);
  const auto forget = [&](std::int16_t chunk, std::int32_t microbatch) {
    if (microbatch < 0 || !is_last(number, chunk, microbatch)) return;
    leave_rows_gradient(rank_, chunk, microbatch);
    rank_.values.forget(chunk, microbatch);
  };
  forget(call.chunk, call.microbatch);
  forget(call.other_chunk, call.other);
}

void Executor::run(int number, int at) {
  Task task(rank_, number, at);
  rank_.order.begin(task.op, {number, at});
  rank_.values.begin({number, at});
  rank_.backend.begin(task.op.stream, task.op.waits);
  try {
    actions_[task.op.name](task);
  } catch (const base::DeviceError& error) {
    throw base::DeviceError(fmt::format("{}: {}", describe(rank_, {number, at}), error.what()));
  }
  rank_.backend.record(plan::event_of(task.op.stream));
  if (task.op.records >= 0) rank_.backend.record(task.op.records);
  rank_.order.end();
  if (!rank_.has_flush() && task.op.stream == plan::Stream::recv_prev) rank_.stash.received();
  leave_layer(task, number, at);
  rank_.values.end();
}

/// Between two chunks of one stage nothing is sent: what one leaves, the other finds.
void Executor::pass_on(const plan::Call& call) {
  const int stage = rank_.place.stage();
  const auto pass = [&](std::int16_t chunk, std::int32_t microbatch, bool backward) {
    if (microbatch < 0 || chunk < 0) return;
    const spec::Placement& placement = rank_.c.placement;
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

}  // namespace real
