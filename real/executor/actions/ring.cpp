// real/executor/actions/ring.cpp -- ring attention (core/plan/context_parallel.h). Keys and values of step i are the
// tensor "ring i": first the rank's own, then what arrives. Each step's output and log-sum-exp stay apart until
// "attention output correction" merges them, both at once: nothing is left to do for "attention log-sum-exp
// correction".
//
// Backward goes the other way round, from the keys that came last: step i there has those of the forward's step count -
// 1 - i. Their gradient follows one step behind them and gets each rank's part in "attention gradients added".
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "real/executor/actions/context_parallel.h"
#include "real/executor/actions/ring_shared.h"
#include "real/executor/gradients.h"
#include "real/executor/sinks.h"

namespace real {
namespace {

std::string at(const char* name, std::int64_t step) { return std::string(name) + ' ' + std::to_string(step); }

void join_keys(Task& task) {
  const Heads heads = attention_heads(task);
  joined(task, ring_name(0), heads.k, heads.v);
}

Heads heads_at(Task& task, std::int64_t step) {
  Heads heads = attention_heads(task);
  if (step == 0) return heads;
  const Tensor kv = task.read(ring_name(step));
  heads.k = kv.part(0, heads.k.count);
  heads.v = kv.part(heads.k.count, heads.v.count);
  return heads;
}

/// The result so far is that of another step's keys, too.
void merge(Task& task) {
  const std::int64_t step = next_attended(task, false);
  const Tensor out = task.read(at("ring output", step)), lse = task.read(at("ring lse", step));
  if (step == 0) {
    task.alias("attention", at("ring output", 0));
    task.alias("attention lse", at("ring lse", 0));
    return;
  }
  merge_step(task, out, lse);
}

void forward(Task& task) {
  const std::int64_t step = next_attended(task, false);
  const Share own = share_of(task, task.rank.place.cp()), keys = share_of(task, ring_owner(task, step));
  const Attended part = attend(task, heads_at(task, step), own, keys, mask_of(task));
  if (step == 0) join_sinks(task, attended_shape(task, task.c.sequence / task.c.cp, part), 0, part);
  task.backend.copy(part.out, task.make(at("ring output", step), part.out.count));
  task.backend.copy(part.lse, task.make(at("ring lse", step), part.lse.count, kStatistic));
  if (ring_steps_of(task).size() > 1) return;
  task.alias("attention", at("ring output", 0));  // nothing comes round
  task.alias("attention lse", at("ring lse", 0));
}

void leave_gradients(Task& task, const Tensor& dq, const Tensor& dkv) {
  const std::int64_t keys = task.c.tokens * key_width(task.c);
  leave_head_gradients(task, {dq, dkv.part(0, keys), dkv.part(keys, dkv.count - keys)});
}

void backward(Task& task) {
  const std::int64_t step = next_attended(task, true), last = static_cast<std::int64_t>(ring_steps_of(task).size()) - 1;
  const Share own = share_of(task, task.rank.place.cp()), keys = share_of(task, ring_owner(task, step));
  const Attended all{task.read("attention"), task.read("attention lse")};
  const Tensor dout = whole_gradient(task, "attention");
  const Heads d = attend_backward(task, heads_at(task, step), own, keys, mask_of(task), all, dout);
  if (step == 0) add_sinks_gradient(task, attended_shape(task, task.c.sequence / task.c.cp, all), 0, all, dout);
  const Tensor dkv = joined(task, at("d ring part", step), d.k, d.v);
  task.backend.copy(d.q, task.make(at("d queries part", step), d.q.count));
  if (step < last) return;
  task.alias("d queries so far", at("d queries part", step));
  task.alias(at("d ring", step), at("d ring part", step));
  if (last == 0) leave_gradients(task, d.q, dkv);
}

Tensor sum_of(Task& task, const std::string& name, const Tensor& a, const Tensor& b) {
  const Tensor sum = task.make(name, a.count);
  task.backend.sum(a, b, sum);
  return sum;
}

/// The step's parts, to what the steps before have made of the queries' gradient and the ranks before of the keys'.
void add_gradients(Task& task) {
  const std::vector<std::int64_t> steps = attended_steps(task, true);
  const std::int64_t step = steps[1 + task.next_piece(1, static_cast<std::int64_t>(steps.size()) - 1)];
  const Tensor dq =
      sum_of(task, "d queries so far", task.read("d queries so far"), task.read(at("d queries part", step)));
  const Tensor dkv =
      sum_of(task, at("d ring", step), task.read(at("d ring arrived", step)), task.read(at("d ring part", step)));
  if (step == 0) leave_gradients(task, dq, dkv);
}

Group against_the_ring(Group group) {
  std::reverse(group.ranks.begin(), group.ranks.end());
  group.self = group.size() - 1 - group.self;
  return group;
}

void shift_forward(Task& task) {
  const std::int64_t hops = static_cast<std::int64_t>(ring_steps_of(task).size()) - 1;
  const std::int64_t step = task.next_piece(1, hops);
  const Tensor from = task.read(ring_name(step)), to = task.make(ring_name(step + 1), from.count);
  expect_bytes(task, from.count, task.c.element);
  task.backend.shift(task.group(), from, to);
}

/// What a rank has made of the gradient of a step's keys, or, where its queries see none of them, what came to it.
Tensor gradient_of_step(Task& task, std::int64_t step) {
  const std::string made = at("d ring", step), arrived = at("d ring arrived", step);
  return task.read(task.has(made) ? made : arrived);
}

/// The keys of the step behind `step`, with `keys`; the gradient that belongs to the one before, with `gradients`.
void shift_backward(Task& task, std::int64_t step, bool keys, bool gradients) {
  const std::int64_t half = task.c.tokens * (key_width(task.c) + value_width(task.c));
  const Tensor from = task.backend.allocate(half * (keys + gradients)), to = task.backend.allocate(from.count);
  expect_bytes(task, from.count, task.c.element);
  if (keys) task.backend.copy(task.read(ring_name(step)), from.part(0, half));
  if (gradients) task.backend.copy(gradient_of_step(task, step + 1), from.part(keys * half, half));
  task.backend.shift(against_the_ring(task.group()), from, to);
  if (keys) task.backend.copy(to.part(0, half), task.make(ring_name(step - 1), half));
  if (gradients) task.backend.copy(to.part(keys * half, half), task.make(at("d ring arrived", step), half));
}

void shift(Task& task) {
  if (task.op.phase != plan::Phase::backward) return shift_forward(task);
  shift_backward(task, static_cast<std::int64_t>(ring_steps_of(task).size()) - 1, true, false);
}

void shift_both(Task& task) {
  const std::int64_t count = static_cast<std::int64_t>(ring_steps_of(task).size());
  shift_backward(task, count - 2 - task.next_piece(1, count - 2), true, true);
}

}  // namespace

AttentionCore ring_core() {
  return {.forward = forward, .backward = backward, .gradients_added = add_gradients, .gradients_shifted = [](Task& t) {
            shift_backward(t, 0, false, true);
          }};
}

void add_ring_actions(Actions& actions) {
  actions["keys and values joined"] = join_keys;
  actions["keys and values shift"] = shift;
  actions["keys, values and gradients shift"] = shift_both;
  actions["attention log-sum-exp correction"] = nothing;
  actions["attention output correction"] = merge;
}

}  // namespace real
