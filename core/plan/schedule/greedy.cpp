// SPDX-License-Identifier: Apache-2.0
#include "core/plan/schedule/greedy.h"

#include <array>
#include <limits>

namespace plan {
namespace {

constexpr int kNotPlaced = std::numeric_limits<int>::max();

/// When each microbatch has passed each place forward and backward.
class Passed {
 public:
  Passed(const Pipeline& p, const spec::Placement& places)
      : microbatches_(p.microbatches),
        forward_(static_cast<std::size_t>(places.places()) * p.microbatches, kNotPlaced),
        backward_(forward_) {}
  int& forward(int place, int m) { return forward_[static_cast<std::size_t>(place) * microbatches_ + m]; }
  int& backward(int place, int m) { return backward_[static_cast<std::size_t>(place) * microbatches_ + m]; }

 private:
  int microbatches_;
  std::vector<int> forward_, backward_;
};

/// From when on a pass can run; kNotPlaced while what it needs has not been run.
int ready(Passed& passed, const spec::Placement& places, int stage, const Slot& slot) {
  const int place = places.place(stage, slot.chunk);
  switch (slot.pass) {
    case Pass::forward: return place == 0 ? 0 : passed.forward(place - 1, slot.microbatch);
    case Pass::input_gradient:
      return place == places.places() - 1 ? passed.forward(place, slot.microbatch)
                                          : passed.backward(place + 1, slot.microbatch);
    default: return passed.backward(place, slot.microbatch);
  }
}

void note(Passed& passed, const spec::Placement& places, int stage, const Slot& slot, int end) {
  const int place = places.place(stage, slot.chunk);
  if (slot.pass == Pass::forward) passed.forward(place, slot.microbatch) = end;
  if (slot.pass == Pass::input_gradient) passed.backward(place, slot.microbatch) = end;
}

struct Stage {
  std::array<int, 2> forwards{}, inputs{}, weights{};
  int free = 0;
  int held(int chunk) const { return forwards[chunk] - weights[chunk]; }
};

/// What a stage could do next in the order in which it would rather, and the first of what is ready now.
bool choose(const Stage& stage, int number, const Pipeline& p, const spec::Placement& places, const Greed& greed,
            Passed& passed, int now, Slot& chosen) {
  const int last = p.chunks - 1;
  const int held = stage.held(0) + stage.held(1);
  const auto try_forward = [&](int c) {
    const int m = stage.forwards[c];
    if (m == p.microbatches || held >= greed.most_held) return false;
    if (c == 0 && stage.held(0) >= greed.most_of_first) return false;
    chosen = {Pass::forward, m, c};
    return ready(passed, places, number, chosen) <= now;
  };
  const auto try_input = [&](int c) {
    const int m = stage.inputs[c];
    if (m == stage.forwards[c]) return false;
    chosen = {Pass::input_gradient, m, c};
    return ready(passed, places, number, chosen) <= now;
  };
  const auto any_forward = [&] {
    for (int c = last; c >= 0; --c) {
      if (try_forward(c)) return true;
    }
    return false;
  };
  const auto oldest_weight = [&] {
    int oldest = -1;
    for (int c = 0; c <= last; ++c) {
      if (stage.weights[c] == stage.inputs[c]) continue;
      if (oldest < 0 || stage.weights[c] < stage.weights[oldest]) oldest = c;
    }
    if (oldest >= 0) chosen = {Pass::weight_gradient, stage.weights[oldest], oldest};
    return oldest >= 0;
  };
  if (greed.forward_first) {
    if (any_forward()) return true;
    const int m = stage.forwards[last];
    const bool comes = m < p.microbatches && ready(passed, places, number, {Pass::forward, m, last}) <= now + 1;
    if (comes && held >= greed.most_held && oldest_weight()) return true;
  }
  for (int c = 0; c <= last; ++c) {
    if (try_input(c)) return true;
  }
  return any_forward() || oldest_weight();
}

}  // namespace

std::vector<std::vector<Slot>> greedy(const Pipeline& p, const spec::Placement& places, const Greed& greed) {
  std::vector<std::vector<Slot>> out(p.stages);
  std::vector<Stage> stages(p.stages);
  Passed passed(p, places);
  const std::size_t of_a_stage = 3 * static_cast<std::size_t>(p.chunks) * p.microbatches;
  for (auto& slots : out) slots.reserve(of_a_stage);
  std::size_t left = of_a_stage * p.stages;
  for (int now = 0; left > 0; ++now) {
    for (int s = p.stages - 1; s >= 0; --s) {  // so that a stage knows what comes up to it from the one behind
      Stage& stage = stages[s];
      Slot slot;
      if (!choose(stage, s, p, places, greed, passed, now, slot)) continue;
      auto& counts = slot.pass == Pass::forward          ? stage.forwards
                     : slot.pass == Pass::input_gradient ? stage.inputs
                                                         : stage.weights;
      ++counts[slot.chunk];
      note(passed, places, s, slot, now + 1);
      out[s].push_back(slot);
      --left;
    }
  }
  return out;
}

}  // namespace plan
