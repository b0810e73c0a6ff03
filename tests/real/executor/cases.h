// tests/real/executor/cases.h -- ways to cut a tiny model and to change its job, and the claim that each computes what
// one rank does. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "tests/real/executor/tiny.h"

namespace tiny {

using Change = std::function<void(spec::Job&)>;

struct Case {
  const char* name;
  toy::Cut cut;
  Change change = [](spec::Job&) {};
};

/// Losses of two steps, norms and every gradient of each case are those of one rank to 1e-10; `all` is changed on both.
/// Parameters that begin at 0 have learned something by the second step.
inline void expect_the_same(
    const std::vector<spec::Model>& models, const std::vector<Case>& cases, const Change& all = [](spec::Job&) {}) {
  for (const spec::Model& model : models) {
    std::map<std::int64_t, Run> alone;  // by global batch
    for (const Case& c : cases) {
      SCOPED_TRACE(model.name + ", " + c.name);
      spec::Job job = draft(model, c.cut);
      all(job);
      c.change(job);
      const auto [run, fresh] = alone.try_emplace(job.training.global_batch);
      if (fresh) {
        spec::Job whole = draft(model, {}, job.training.global_batch);
        all(whole);
        run->second = tiny::run(toy::resolved(whole));
      }
      EXPECT_LT(difference(run->second, tiny::run(toy::resolved(job))), 1e-10);
    }
  }
}
inline void expect_the_same(
    const spec::Model& model, const std::vector<Case>& cases, const Change& all = [](spec::Job&) {}) {
  expect_the_same(std::vector{model}, cases, all);
}

template <class... Changes>
Change both(Changes... changes) {
  return [=](spec::Job& j) { (changes(j), ...); };
}
inline Change recompute(spec::Recompute::Kind kind, int layers = 0) {
  return [=](spec::Job& j) { j.strategy.recompute = {kind, layers}; };
}
/// Attention that writes its scores.
inline Change unfused(spec::Recompute::Kind kind = spec::Recompute::Kind::none) {
  return [=](spec::Job& j) {
    j.strategy.attention_kernel = spec::AttentionKernel::unfused;
    j.strategy.recompute.kind = kind;
  };
}
inline Change overlap(bool reduce, bool gather) {
  return [=](spec::Job& j) {
    j.strategy.overlap.grad_reduce = reduce;
    j.strategy.overlap.param_gather = gather;
  };
}
inline Change overlap_tp(spec::TpOverlap tp, bool keeps_gathered = false) {
  return [=](spec::Job& j) {
    j.strategy.overlap.tp = tp;
    j.framework.keeps_gathered = keeps_gathered;
  };
}
inline Change shard(int ranks) {
  return [=](spec::Job& j) { j.strategy.shard = ranks; };
}
inline Change context(int cp, spec::CpKind kind, bool zigzag, std::int64_t micro_batch = 1) {
  return [=](spec::Job& j) {
    j.cluster = toy::cluster(cp * j.strategy.tp * j.strategy.pp * *j.strategy.dp);
    j.strategy.cp = cp;
    j.strategy.cp_kind = kind;
    j.strategy.cp_balance = zigzag ? spec::CpBalance::zigzag : spec::CpBalance::none;
    j.training.micro_batch = micro_batch;
  };
}
inline Change experts(int ep, int etp = 1) {
  return [=](spec::Job& j) {
    j.strategy.ep = ep;
    j.strategy.etp = etp;
    j.strategy.etp_given = true;
  };
}
/// Zero-bubble schedules do without the norm of all gradients unless told.
inline void barrier(spec::Job& j) { j.strategy.optimizer_barrier = true; }
inline void two_sequences(spec::Job& j) { j.training.micro_batch = 2; }
/// A ring's keys and values come at once.
inline void at_once(spec::Job& j) { j.framework.ring_gathers = true; }

}  // namespace tiny
