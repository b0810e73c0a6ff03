// real/executor/actions/ring_at_once.cpp -- ring attention whose keys and values come in one all-gather
// (core/plan/ring_at_once.cpp). Backward attends in the forward's order; the gradient of a step's keys, in fp32, gets
// this rank's part and goes on to the next rank, whose next step has the same keys: after the last it is home.
//
// Each step's result is merged by "attention output merge"; conversions around it, and copies of halves, are made
// between tensors that nobody reads, so that the step does what the Plan says. SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/context_parallel.h"
#include "real/executor/actions/ring_shared.h"
#include "real/executor/gradients.h"
#include "real/executor/sinks.h"

namespace real {
namespace {

constexpr const char *kSoFar = "d queries so far", *kOwnPart = "d keys and values part";
constexpr const char *kGathered = "gathered keys", *kTravelling = "d ring", *kArrived = "d ring arrived";

void gather(Task& task) {
  const Tensor own = task.read(ring_name(0)), all = task.make(kGathered, own.count * task.c.cp);
  expect_bytes(task, all.count, task.c.element);
  task.backend.all_gather(task.group(), own, all);
}

Heads heads_at(Task& task, std::int64_t step) {
  Heads heads = attention_heads(task);
  if (step == 0) return heads;
  const std::int64_t own = heads.k.count + heads.v.count, begin = ring_owner(task, step) * own;
  const Tensor all = task.read(kGathered);
  heads.k = all.part(begin, heads.k.count);
  heads.v = all.part(begin + heads.k.count, heads.v.count);
  return heads;
}

Share share_at(const Task& task, std::int64_t step) { return share_of(task, ring_owner(task, step)); }

void forward(Task& task) {
  const std::int64_t step = next_attended(task, false);
  const Share own = share_at(task, 0);
  const Attended part = attend(task, heads_at(task, step), own, share_at(task, step), mask_of(task));
  if (step == 0) join_sinks(task, attended_shape(task, task.c.sequence / task.c.cp, part), 0, part);
  task.leave(step == 0 ? "attention" : "attention of a step", part.out);
  task.leave(step == 0 ? "attention lse" : "lse of a step", part.lse);
}

void merge(Task& task) { merge_step(task, task.read("attention of a step"), task.read("lse of a step")); }

void backward(Task& task) {
  const std::int64_t step = next_attended(task, false);
  const Attended all{task.read("attention"), task.read("attention lse")};
  const Share own = share_at(task, 0);
  const Tensor dout = whole_gradient(task, "attention");
  const Heads d = attend_backward(task, heads_at(task, step), own, share_at(task, step), mask_of(task), all, dout);
  if (step == 0) add_sinks_gradient(task, attended_shape(task, task.c.sequence / task.c.cp, all), 0, all, dout);
  joined(task, kOwnPart, d.k, d.v);
  task.leave("d queries part", d.q);
}

/// `part` to what there is of `sum`, or in its place, as fp32.
void add_exactly(Task& task, const char* sum, const char* before, const Tensor& part, bool first) {
  if (first) return task.backend.copy(part, task.make(sum, part.count, kNumbers));
  const Tensor old = task.read(before), out = task.make(sum, part.count, kNumbers);
  task.backend.sum(old, part, out);
}

/// Two operators of this name follow each step: for queries, and for keys and values. A step that sees no pair of
/// tokens has no part, and its keys' gradient goes on as it came.
void add_gradients(Task& task) {
  const std::vector<plan::RingStep> steps = ring_steps_of(task);
  const std::int64_t at = task.next_piece(1, 2 * static_cast<std::int64_t>(steps.size())), step = at / 2;
  const bool attends = steps[step].pairs > 0;
  if (at % 2 == 0) {
    if (attends) add_exactly(task, kSoFar, kSoFar, task.read("d queries part"), step == 0);
  } else if (attends) {
    add_exactly(task, kTravelling, kArrived, task.read(kOwnPart), step == 0);
  } else {
    task.alias(kTravelling, kArrived);
  }
}

void shift(Task& task) {
  const Tensor from = task.read(kTravelling), to = task.make(kArrived, from.count, kNumbers);
  expect_bytes(task, from.count, sizeof(float));
  task.backend.shift(task.group(), from, to);
}

void leave_gradients(Task& task) {
  const plan::Context& c = task.c;
  const Tensor dq = task.read(kSoFar), dkv = task.read(kArrived);
  const std::int64_t keys = c.tokens * key_width(c);
  const Heads d{task.backend.allocate(dq.count), task.backend.allocate(keys), task.backend.allocate(dkv.count - keys)};
  task.backend.copy(dq, d.q);
  task.backend.copy(dkv.part(0, keys), d.k);
  task.backend.copy(dkv.part(keys, dkv.count - keys), d.v);
  leave_head_gradients(task, d);
}

void converted(Task& task, Meaning from, Meaning to) {
  const auto& work = task.work<plan::MemoryBound>();
  const std::int64_t count = work.read / (from == Meaning::exact ? std::int64_t{sizeof(float)} : task.c.element);
  task.backend.copy(task.backend.allocate(count, {from, plan::Category::workspace}),
                    task.backend.allocate(count, {to, plan::Category::workspace}));
}

}  // namespace

AttentionCore ring_at_once_core() {
  return {.forward = forward,
          .backward = backward,
          .gradients_added = add_gradients,
          .keys_gathered = gather,
          .gradients_shifted = shift};
}

void add_ring_at_once_actions(Actions& actions) {
  using enum Meaning;
  actions["attention output to fp32"] = [](Task& t) { converted(t, activation, exact); };
  actions["attention output from fp32"] = [](Task& t) { converted(t, exact, activation); };
  actions["attention output merge"] = merge;
  for (const char* what :
       {"attention output halves joined", "attention gradient halves joined", "key and value gradients joined"}) {
    actions[what] = [](Task& t) { converted(t, exact, exact); };
  }
  actions["attention gradients from fp32"] = leave_gradients;
}

}  // namespace real
