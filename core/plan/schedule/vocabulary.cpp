// core/plan/schedule/vocabulary.cpp -- orders found by running the pipeline on paper: each stage keeps the order of its
// forwards and backwards and runs the passes of its share of the vocabulary between them, as soon as one can begin.
//
// All stages run those passes in one order, for they meet in each. Microbatch m + 1's logits come before the gradients
// of m's: a stage that is busy lets the others wait for up to a backward, twice in a microbatch, and both waits in a
// row would be longer than the time between two microbatches. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <limits>

#include "core/plan/schedule/placement.h"
#include "core/plan/schedule/schedule.h"

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

/// The one order of the vocabulary's passes. Rows are looked up `ahead` microbatches before their logits and their
/// gradient is made as many behind, so that neither the first stage nor the others wait.
std::vector<Slot> meeting_order(int microbatches, int ahead) {
  std::vector<Slot> out;
  const auto add = [&](Pass pass, int m) {
    if (m >= 0 && m < microbatches) out.push_back({pass, m, 0});
  };
  for (int m = 0; m < ahead; ++m) add(Pass::look_up, m);
  for (int m = 0; m < microbatches + ahead + 1; ++m) {
    add(Pass::logits, m);
    add(Pass::look_up, m + ahead);
    add(Pass::logits_gradient, m - 1);
    add(Pass::rows_gradient, m - 1 - ahead);
  }
  return out;
}

class Paper {
 public:
  Paper(const Pipeline& p, spec::Schedule schedule, const VocabularyPasses& costs, std::vector<std::vector<Slot>> own)
      : p_(p),
        costs_(costs),
        places_(schedule, p.stages, p.chunks),
        own_(std::move(own)),
        shared_(meeting_order(p.microbatches, most_under_way(own_[0]))),
        forward_(static_cast<std::size_t>(places_.places()) * p.microbatches, kUnknown),
        backward_(forward_),
        look_up_(p.stages, p.microbatches),
        logits_(look_up_),
        gradient_(look_up_),
        stages_(p.stages) {}

  std::vector<std::vector<Slot>> run() {
    std::vector<std::vector<Slot>> out(p_.stages);
    for (std::size_t left = p_.stages * (own_[0].size() + shared_.size()); left > 0; --left) {
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

  std::size_t at(int place, int m) const { return static_cast<std::size_t>(place) * p_.microbatches + m; }

  /// What the last stage's backward waits for.
  const Meetings& loss() const { return costs_.barriers == 1 ? logits_ : gradient_; }

  double ready(int s, const Slot& slot) const {
    const int m = slot.microbatch, last = places_.places() - 1, place = places_.place(s, slot.chunk);
    switch (slot.pass) {
      case Pass::look_up: return 0;
      case Pass::logits: return forward_[at(last, m)];
      case Pass::logits_gradient: return logits_.end(m);
      case Pass::rows_gradient: return backward_[at(0, m)];
      case Pass::forward: return place == 0 ? look_up_.end(m) : forward_[at(place - 1, m)];
      default: return place == last ? loss().end(m) : backward_[at(place + 1, m)];
    }
  }

  /// The earlier of the stage's own next pass and the next shared one; of equals the shared one, for all wait for it.
  Choice next_of(int s) const {
    const Stage& stage = stages_[s];
    Choice out;
    if (stage.shared < shared_.size()) {
      const Slot& slot = shared_[stage.shared];
      out = {std::max(stage.free, ready(s, slot)), slot};
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
    const std::size_t mine = at(places_.place(s, slot.chunk), slot.microbatch);
    switch (slot.pass) {
      case Pass::look_up: return look_up_.run(slot.microbatch, stage.free);
      case Pass::logits: return logits_.run(slot.microbatch, stage.free);
      case Pass::logits_gradient: return gradient_.run(slot.microbatch, stage.free);
      case Pass::rows_gradient: return;
      case Pass::forward: forward_[mine] = stage.free; return;
      default: backward_[mine] = stage.free;
    }
  }

  Pipeline p_;
  VocabularyPasses costs_;
  Placement places_;
  std::vector<std::vector<Slot>> own_;
  std::vector<Slot> shared_;
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
