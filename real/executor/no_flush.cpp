// real/executor/no_flush.cpp -- a pipeline that never empties: its Plan is one step of the steady state, which finds
// microbatches under way. They are sent forward before the first step. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "real/executor/executor.h"

namespace real {
namespace {

bool goes_forward(const plan::Plan& plan, const plan::Call& call) {
  const auto& operators = plan.segments[call.segment].operators;
  const auto is_forward = [](const plan::Operator& op) { return op.phase == plan::Phase::forward; };
  return call.microbatch >= 0 && std::ranges::any_of(operators, is_forward);
}

std::vector<int> forwards(const plan::Plan& plan, const plan::Role& role) {
  std::vector<int> out;
  for (int i = 0; i < static_cast<int>(role.calls.size()); ++i) {
    if (goes_forward(plan, role.calls[i])) out.push_back(i);
  }
  return out;
}

}  // namespace

/// As many as there are stages from here on (core/plan/schedule/pipedream.cpp), by the calls that would have done it in
/// the steps before. A forward receives what the next one reads; nothing has received what the first one does.
void Executor::fill_pipeline() {
  const std::vector<int> calls = forwards(rank_.plan, rank_.role());
  const int count = static_cast<int>(calls.size()), ahead = rank_.c.pp - rank_.place.stage();
  const auto call_of = [&](int microbatch) { return calls[((microbatch - ahead) % count + count) % count]; };
  receive_first(call_of(0));
  for (int microbatch = 0; microbatch < ahead; ++microbatch) run(call_of(microbatch));
  rank_.backend.synchronize();
}

void Executor::receive_first(int call) {
  const auto& operators = rank_.plan.segments[rank_.role().calls[call].segment].operators;
  for (int at = 0; at < static_cast<int>(operators.size()); ++at) {
    if (operators[at].stream == plan::Stream::recv_prev) run(call, at);
  }
}

/// Nothing reads behind its backward what a microbatch left.
void Executor::leave_pass(const plan::Call& call) {
  if (call.microbatch < 0) return;
  if (goes_forward(rank_.plan, call)) return rank_.stash.forwarded();
  const std::int32_t microbatch = rank_.stash.next_backward();
  const auto is_its_own = [&](const auto& entry) { return entry.first.microbatch == microbatch; };
  rank_.values.forget(call.chunk, microbatch);
  std::erase_if(rank_.routings, is_its_own);
  std::erase_if(rank_.covered, [&](const auto& entry) { return entry.first.first.microbatch == microbatch; });
  rank_.stash.went_backward(rank_.parameters);
}

}  // namespace real
