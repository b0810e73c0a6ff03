// core/plan/schedule/vocabulary.cpp -- orders found by running the pipeline on paper: each stage keeps the order of its
// forwards and backwards and runs the passes of its share of the vocabulary between them, as soon as one can begin.
//
// All stages run those passes in one order, for they meet in each: that in which they become possible, which is the
// same for all. A stage that is busy lets the others wait for up to a backward, once in each meeting.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <limits>

#include "core/plan/schedule/schedule.h"
#include "core/spec/placement.h"

namespace plan {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// When all stages have run a pass of a microbatch.
class Meetings {
 public:
  Meetings(int stages, int microbatches) : left_(microbatches, stages), end_(microbatches, 0) {}
  void run(int m, double end) {
    --left_[m];
    end_[m] = std::max(end_[m], end);
  }
  double end(int m) const { return left_[m] == 0 ? end_[m] : kUnknown; }

 private:
  std::vector<int> left_;
  std::vector<double> end_;
};

/// How many microbatches a stage has forwarded through its first chunk without their backward, at most.
int most_under_way(const std::vector<Slot>& slots) {
  int now = 0, most = 0;
  for (const Slot& slot : slots) {
    if (slot.chunk == 0) now += slot.pass == Pass::forward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

class Paper {
 public:
  Paper(const Pipeline& p, spec::Schedule schedule, const VocabularyPasses& costs, std::vector<std::vector<Slot>> own)
      : p_(p),
        costs_(costs),
        places_(spec::traits_of(schedule).shape, p.stages, p.chunks),
        own_(std::move(own)),
        ahead_(std::min(most_under_way(own_[0]), p.microbatches)),
        forward_(static_cast<std::size_t>(places_.places()) * p.microbatches, kUnknown),
        backward_(forward_),
        look_up_(p.stages, p.microbatches),
        logits_(look_up_),
        gradient_(look_up_),
        stages_(p.stages) {
    for (int m = 0; m < ahead_; ++m) meet(Pass::look_up, m, 0);
  }

  std::vector<std::vector<Slot>> run() {
    std::vector<std::vector<Slot>> out(p_.stages);
    const std::size_t shared = 4 * static_cast<std::size_t>(p_.microbatches);
    for (std::size_t left = p_.stages * (own_[0].size() + shared); left > 0; --left) {
      int first = -1;
      Choice chosen;
      for (int s = 0; s < p_.stages; ++s) {
        const Choice choice = next_of(s);
        if (choice.start < chosen.start) chosen = choice, first = s;
      }
      assert(first >= 0 && "some stage can always go on");
      take(first, chosen);
      out[first].push_back(chosen.slot);
    }
    return out;
  }

 private:
  struct Choice {
    double start = kUnknown;
    Slot slot;
  };
  struct Stage {
    std::size_t own = 0, shared = 0;  // passes run
    double free = 0;
  };

  /// A pass that all stages can begin at `ready`.
  struct Shared {
    double ready;
    Slot slot;
  };

  /// Behind all that are possible no later. What some stage has begun stays in front: it began at `ready` or later, and
  /// passes are begun in the order of time.
  void meet(Pass pass, int m, double ready) {
    const auto later = [](double time, const Shared& shared) { return time < shared.ready; };
    shared_.insert(std::upper_bound(shared_.begin(), shared_.end(), ready, later), {ready, {pass, m, 0}});
  }

  std::size_t at(int place, int m) const { return static_cast<std::size_t>(place) * p_.microbatches + m; }

  /// What the last stage's backward waits for.
  const Meetings& loss() const { return costs_.barriers == 1 ? logits_ : gradient_; }

  /// When a pass of a stage's own is possible.
  double ready(int s, const Slot& slot) const {
    const int m = slot.microbatch, last = places_.places() - 1, place = places_.place(s, slot.chunk);
    if (slot.pass == Pass::forward) return place == 0 ? look_up_.end(m) : forward_[at(place - 1, m)];
    return place == last ? loss().end(m) : backward_[at(place + 1, m)];
  }

  /// The earlier of the stage's own next pass and the next shared one; of equals the shared one, for all wait for it.
  Choice next_of(int s) const {
    const Stage& stage = stages_[s];
    Choice out;
    if (stage.shared < shared_.size()) {
      out = {std::max(stage.free, shared_[stage.shared].ready), shared_[stage.shared].slot};
    }
    if (stage.own < own_[s].size()) {
      const Slot& slot = own_[s][stage.own];
      const double start = std::max(stage.free, ready(s, slot));
      if (start < out.start) out = {start, slot};
    }
    return out;
  }

  double duration(Pass pass) const {
    switch (pass) {
      case Pass::forward: return 1;
      case Pass::logits: return costs_.logits * (costs_.barriers == 1 ? 2 : 1);
      case Pass::logits_gradient: return costs_.logits * (costs_.barriers == 1 ? 1 : 2);
      case Pass::look_up:
      case Pass::rows_gradient: return 0;
      default: return costs_.backward;
    }
  }

  void take(int s, const Choice& choice) {
    const Slot& slot = choice.slot;
    Stage& stage = stages_[s];
    stage.free = choice.start + duration(slot.pass);
    ++(of_vocabulary(slot.pass) ? stage.shared : stage.own);
    const int place = places_.place(s, slot.chunk), m = slot.microbatch;
    switch (slot.pass) {
      case Pass::look_up: return look_up_.run(m, stage.free);
      case Pass::logits:
        logits_.run(m, stage.free);
        if (logits_.end(m) < kUnknown) meet(Pass::logits_gradient, m, logits_.end(m));
        return;
      case Pass::logits_gradient: return gradient_.run(m, stage.free);
      case Pass::rows_gradient: return;
      case Pass::forward: {
        forward_[at(place, m)] = stage.free;
        if (place + 1 < places_.places()) return;
        meet(Pass::logits, m, stage.free);
        if (m + ahead_ < p_.microbatches) meet(Pass::look_up, m + ahead_, stage.free);
        return;
      }
      default:
        backward_[at(place, m)] = stage.free;
        // A backward later, so that the gradient has come to all and none waits for it.
        if (place == 0) meet(Pass::rows_gradient, m, stage.free + costs_.backward);
    }
  }

  Pipeline p_;
  VocabularyPasses costs_;
  spec::Placement places_;
  std::vector<std::vector<Slot>> own_;
  int ahead_;  // rows are looked up so many microbatches before their logits
  std::vector<Shared> shared_;
  std::vector<double> forward_, backward_;  // ends, by place and microbatch
  Meetings look_up_, logits_, gradient_;
  std::vector<Stage> stages_;
};

}  // namespace

std::vector<std::vector<Slot>> with_vocabulary(spec::Schedule schedule, const Pipeline& pipeline,
                                               const VocabularyPasses& costs) {
  Pipeline leading = pipeline;
  leading.lead = costs.barriers;
  return Paper(pipeline, schedule, costs, orders(schedule, leading)).run();
}

}  // namespace plan
