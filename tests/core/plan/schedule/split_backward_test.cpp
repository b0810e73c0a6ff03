// tests/core/plan/schedule/split_backward_test.cpp -- orders that run weight gradients apart, or feed the pipeline from
// both ends, against a plain oracle: all stages together, one unit of time for a forward, a gradient of inputs and a
// gradient of weights of a chunk, transfers free. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/plan/schedule/schedule.h"
#include "core/spec/placement.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Pass;
using plan::Slot;
using spec::Schedule;

struct Ran {
  std::string fault;  // empty: every pass ran once, behind what it needs
  int makespan = 0;   // from the first start to the last end
  int period = 0;     // the longest from a stage's first start to its last end
  int most_held = 0;  // microbatches x chunks of one stage between forward and weight gradient
};

int chunks_of(Schedule s) { return s == Schedule::zb_v || s == Schedule::dualpipe ? 2 : 1; }

Ran run(Schedule schedule, int stages, int microbatches) {
  const int chunks = chunks_of(schedule);
  const spec::Placement places(spec::traits_of(schedule).shape, stages, chunks);
  const std::vector<std::vector<Slot>> slots = plan::orders(schedule, {0, stages, chunks, microbatches});
  const bool copies = schedule == Schedule::dualpipe;
  std::map<std::tuple<char, int, int, int>, int> end;  // (F B or W, copy, place, microbatch)
  std::vector<std::size_t> next(stages);
  std::vector<int> free(stages), begin(stages, -1), held(stages);
  Ran out;
  for (bool moved = true; moved;) {
    moved = false;
    for (int s = 0; s < stages; ++s) {
      for (; next[s] < slots[s].size(); ++next[s]) {
        const Slot& slot = slots[s][next[s]];
        int start = free[s];
        bool ready = true;
        const auto after = [&](char what, int chunk, int place, int m) {
          const auto found = end.find({what, copies ? chunk : 0, place, m});
          if (found == end.end()) {
            ready = false;
          } else {
            start = std::max(start, found->second);
          }
        };
        const bool both = slot.pass == Pass::overlapped;
        const int back = both ? slot.other_chunk : slot.chunk, m_back = both ? slot.other : slot.microbatch;
        const int place = places.place(s, slot.chunk), place_back = places.place(s, back);
        const bool forwards = slot.pass == Pass::forward || both;
        const bool returns = slot.pass == Pass::backward || slot.pass == Pass::input_gradient || both;
        const bool weighs = slot.pass == Pass::backward || slot.pass == Pass::weight_gradient || both;
        if (forwards && place > 0) after('F', slot.chunk, place - 1, slot.microbatch);
        if (returns) after('F', back, place_back, m_back);
        if (returns && place_back + 1 < places.places()) after('B', back, place_back + 1, m_back);
        if (weighs && !returns) after('B', back, place_back, m_back);
        if (!ready) break;
        free[s] = start;
        free[s] += forwards + returns + weighs;
        const auto pass = [&](char what, int chunk, int at, int m) {  // results leave with the slot's end
          if (!end.emplace(std::tuple{what, copies ? chunk : 0, at, m}, free[s]).second) {
            out.fault = std::string("twice ") + what;
          }
        };
        if (forwards) pass('F', slot.chunk, place, slot.microbatch);
        out.most_held = std::max(out.most_held, held[s] += forwards);
        if (returns) pass('B', back, place_back, m_back);
        if (weighs) pass('W', back, place_back, m_back);
        held[s] -= weighs;
        if (begin[s] < 0) begin[s] = start;
        moved = true;
      }
    }
  }
  const int each = microbatches / (copies ? 2 : 1);
  if (end.size() != static_cast<std::size_t>(3) * each * stages * chunks) out.fault += " not all ran";
  for (int s = 0; s < stages; ++s) {
    out.makespan = std::max(out.makespan, free[s]);
    out.period = std::max(out.period, free[s] - begin[s]);
  }
  return out;
}

std::string told(int p, int m) { return "stages " + std::to_string(p) + ", microbatches " + std::to_string(m); }

TEST(SplitBackward, RunsEveryPassOnceInOrderWithoutDeadlock) {
  walk::Dice dice(77);
  for (int i = 0; i < 150; ++i) {
    const int p = dice.from(1, 12), m = dice.from(1, 40);
    for (const Schedule s : {Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_v}) {
      EXPECT_EQ(run(s, p, m).fault, "") << told(p, m) << " schedule " << static_cast<int>(s);
    }
    const int even = 2 * dice.from(1, 6), pairs = 2 * (even + dice.from(0, 20));
    EXPECT_EQ(run(Schedule::dualpipe, even, pairs).fault, "") << told(even, pairs);
  }
}

TEST(ZeroBubbleH1, IsIdleAThirdOf1F1BsTimeAndHoldsNoMore) {
  // (p - 1) (F + B - W) instead of (p - 1) (F + B + W), with at most p microbatches on a stage: arXiv 2401.10241,
  // table 2.
  for (const int p : {2, 3, 4, 8, 16}) {
    for (const int m : {p, p + 1, 2 * p, 5 * p}) {
      const Ran r = run(Schedule::zb_h1, p, m);
      EXPECT_EQ(r.period, 3 * m + p - 1) << told(p, m);
      EXPECT_EQ(r.most_held, p) << told(p, m);
    }
  }
}

TEST(ZeroBubbleH2, IsNeverIdleWithinTwiceTheMemory) {
  // (p - 1) (F + B - 2 W) = 0 with at most 2 p - 1 microbatches, table 2.
  for (const int p : {2, 3, 4, 8, 16}) {
    for (const int m : {2 * p - 1, 2 * p, 3 * p, 7 * p}) {
      const Ran r = run(Schedule::zb_h2, p, m);
      EXPECT_EQ(r.period, 3 * m) << told(p, m);
      EXPECT_LE(r.most_held, 2 * p - 1) << told(p, m);
    }
  }
}

TEST(ZeroBubbleV, IsNeverIdleWithinTheMemoryOf1F1B) {
  // 3 passes of each microbatch through either chunk and nothing else; 2 p chunks of half a stage are p microbatches.
  // arXiv 2405.15362, fig. 3 and section 4.
  for (const int p : {2, 3, 4, 5, 6, 7, 8, 12, 16, 32}) {
    for (const int m : {2 * p, 2 * p + 1, 3 * p, 7 * p}) {
      const Ran r = run(Schedule::zb_v, p, m);
      EXPECT_LE(r.most_held, 2 * p) << told(p, m);
      EXPECT_EQ(r.period, 6 * m) << told(p, m);
    }
  }
}

TEST(ZeroBubbleV, IsIdleNoLongerThanH1WithFewMicrobatches) {
  for (const int p : {2, 3, 4, 8, 16}) {
    for (int m = 1; m < 2 * p; ++m) {
      EXPECT_LE(run(Schedule::zb_v, p, m).period, 2 * run(Schedule::zb_h1, p, m).period) << told(p, m);
    }
  }
}

TEST(DualPipe, HasThePublishedBubble) {
  // (p/2 - 1) (F&B + B - 3 W) with F&B = 3, B = 2, W = 1 is p - 2, beside 3 passes of each microbatch through either
  // chunk; p + 1 microbatches are held. arXiv 2412.19437, table 2.
  for (const int p : {2, 4, 8, 16}) {
    for (const int m : {2 * p, 2 * p + 2, 4 * p}) {
      const Ran r = run(Schedule::dualpipe, p, m);
      EXPECT_EQ(r.makespan, 3 * m + p - 2) << told(p, m);
      EXPECT_LE(r.most_held, p + 1) << told(p, m);
    }
  }
}

TEST(PipeDream, ReturnsWhatItForwardedAsManyMicrobatchesEarlierAsThereAreStagesFromHere) {
  using enum Pass;
  const std::vector<Slot> expected{{backward, 0, 0}, {forward, 2, 0}, {backward, 1, 0}, {forward, 3, 0},
                                   {backward, 2, 0}, {forward, 0, 0}, {backward, 3, 0}, {forward, 1, 0}};
  EXPECT_EQ(plan::pipedream({2, 4, 1, 4}), expected);
}

}  // namespace
