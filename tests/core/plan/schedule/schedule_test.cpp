// tests/core/plan/schedule/schedule_test.cpp -- orders of the pipeline schedules: each one alone, and all stages
// together. SPDX-License-Identifier: Apache-2.0
#include "core/plan/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/core/plan/walk.h"

namespace {

using plan::Pass;
using plan::Pipeline;
using plan::Slot;
using spec::Schedule;

bool backward(const Slot& slot) { return slot.pass == Pass::backward; }

using Order = std::vector<Slot> (*)(const Pipeline&);

std::string told(const Pipeline& p) {
  return "stage " + std::to_string(p.stage) + " of " + std::to_string(p.stages) + ", chunks " +
         std::to_string(p.chunks) + ", microbatches " + std::to_string(p.microbatches);
}

struct Part {
  bool backward;
  int microbatch, chunk;
};

/// An overlapped pass is a forward and a backward at once.
std::vector<Part> parts(const Slot& slot) {
  if (slot.pass != Pass::overlapped) return {{backward(slot), slot.microbatch, slot.chunk}};
  return {{false, slot.microbatch, slot.chunk}, {true, slot.other, slot.other_chunk}};
}

/// 1F1B and interleaved with forward and backward in one pass.
std::vector<Slot> paired(const Pipeline& p) {
  Pipeline beside = p;
  beside.beside = true;
  return plan::orders(p.chunks > 1 ? Schedule::interleaved : Schedule::one_f_one_b, beside)[p.stage];
}

/// Most (microbatch, chunk) pairs that were forwarded and not yet backwarded at any time.
int most_in_flight(const std::vector<Slot>& slots) {
  int now = 0, most = 0;
  for (const Slot& slot : slots) {
    for (const Part& part : parts(slot)) most = std::max(most, now += part.backward ? -1 : 1);
  }
  return most;
}

int forwards_before_first_backward(const std::vector<Slot>& slots) {
  return static_cast<int>(std::find_if(slots.begin(), slots.end(), [](const Slot& s) { return backward(s); }) -
                          slots.begin());
}

/// Runs the orders of all stages: a receive blocks until its neighbour has sent, a send never blocks, and an edge
/// delivers in the order of sending, as the n-th call of one NCCL member meets the n-th of the other. Returns what went
/// wrong.
std::string run_together(Order order, int stages, int chunks, int microbatches) {
  std::vector<std::vector<Slot>> slots;
  for (int s = 0; s < stages; ++s) slots.push_back(order({s, stages, chunks, microbatches}));
  using Parcel = std::pair<int, int>;                             // microbatch, place of the chunk in the model
  std::map<std::tuple<bool, int, int>, std::deque<Parcel>> edge;  // (backward, from, to)
  std::vector<std::size_t> next(stages, 0);
  const int last = stages * chunks - 1;
  for (bool moved = true; moved;) {
    moved = false;
    for (int s = 0; s < stages; ++s) {
      while (next[s] < slots[s].size()) {
        const std::vector<Part> passes = parts(slots[s][next[s]]);
        const int up = (s + stages - 1) % stages, down = (s + 1) % stages;
        const auto place = [&](const Part& part) { return part.chunk * stages + s; };
        const auto inbox = [&](const Part& part) -> std::deque<Parcel>& {
          return edge[{part.backward, part.backward ? down : up, s}];
        };
        const auto receives = [&](const Part& part) { return place(part) != (part.backward ? last : 0); };
        if (std::ranges::any_of(passes, [&](const Part& part) { return receives(part) && inbox(part).empty(); })) break;
        for (const Part& part : passes) {
          if (!receives(part)) continue;
          if (inbox(part).front() != Parcel{part.microbatch, place(part)})
            return "stage " + std::to_string(s) + " receives another parcel";
          inbox(part).pop_front();
        }
        for (const Part& part : passes) {
          if (place(part) == (part.backward ? 0 : last)) continue;
          edge[{part.backward, s, part.backward ? up : down}].push_back(
              {part.microbatch, place(part) + (part.backward ? -1 : 1)});
        }
        ++next[s];
        moved = true;
      }
    }
  }
  for (int s = 0; s < stages; ++s) {
    if (next[s] < slots[s].size()) return "stage " + std::to_string(s) + " waits for ever";
  }
  for (const auto& [key, parcels] : edge) {
    if (!parcels.empty()) return "something sent was never received";
  }
  return "";
}

/// Each (microbatch, chunk) once forward, once backward, in this sequence.
void expect_complete(const std::vector<Slot>& slots, const Pipeline& p) {
  std::vector<int> state(static_cast<std::size_t>(p.microbatches) * p.chunks, 0);  // 1: forwarded, 2: backwarded
  for (const Slot& slot : slots) {
    const std::vector<Part> passes = parts(slot);
    for (const Part& part : passes) {  // both halves of a pair need what was there before it
      ASSERT_TRUE(part.microbatch >= 0 && part.microbatch < p.microbatches && part.chunk >= 0 && part.chunk < p.chunks)
          << told(p);
      ASSERT_EQ(state[static_cast<std::size_t>(part.microbatch) * p.chunks + part.chunk], part.backward ? 1 : 0)
          << told(p) << ": microbatch " << part.microbatch << ", chunk " << part.chunk;
    }
    for (const Part& part : passes) ++state[static_cast<std::size_t>(part.microbatch) * p.chunks + part.chunk];
  }
  for (const int passes : state) ASSERT_EQ(passes, 2) << told(p);
}

struct Case {
  int stages, microbatches, chunks;
};

/// Fixed corners and random ones; microbatches fewer than stages and no multiple of them among them.
std::vector<Case> cases(int most_chunks) {
  std::vector<Case> out{{1, 1, 1}, {1, 5, 1}, {8, 1, 1}, {8, 7, 1}, {8, 8, 1}, {8, 9, 1}};
  walk::Dice dice(20240);
  for (int i = 0; i < 200; ++i) {
    out.push_back({dice.from(1, 9), dice.from(1, 30), dice.from(1, most_chunks)});
  }
  return out;
}

TEST(Schedule, RunsEachMicrobatchOnceForwardThenOnceBackwardThroughEveryChunk) {
  for (const Case& c : cases(1)) {
    for (int s = 0; s < c.stages; ++s) {
      const Pipeline p{s, c.stages, 1, c.microbatches};
      expect_complete(plan::gpipe(p), p);
      expect_complete(plan::one_f_one_b(p), p);
    }
  }
  for (const Case& c : cases(4)) {
    for (int s = 0; s < c.stages; ++s) {
      const Pipeline p{s, c.stages, c.chunks, c.microbatches};
      expect_complete(plan::interleaved(p), p);
      expect_complete(paired(p), p);
    }
  }
}

TEST(Schedule, OrdersOfAllStagesTogetherNeitherDeadlockNorSwapMessages) {
  for (const Case& c : cases(1)) {
    const Pipeline p{0, c.stages, 1, c.microbatches};
    EXPECT_EQ(run_together(plan::gpipe, c.stages, 1, c.microbatches), "") << told(p);
    EXPECT_EQ(run_together(plan::one_f_one_b, c.stages, 1, c.microbatches), "") << told(p);
  }
  for (const Case& c : cases(4)) {
    // Whole groups, or less than one: the rest is refused, see below.
    const int microbatches = c.microbatches <= c.stages ? c.microbatches : c.microbatches / c.stages * c.stages;
    const Pipeline p{0, c.stages, c.chunks, microbatches};
    EXPECT_EQ(run_together(plan::interleaved, c.stages, c.chunks, microbatches), "") << told(p);
    EXPECT_EQ(run_together(paired, c.stages, c.chunks, microbatches), "") << told(p);
  }
}

TEST(Interleaved, CanDeadlockBehindASmallerLastGroupSoCheckRefusesIt) {
  EXPECT_EQ(run_together(plan::interleaved, 5, 2, 7), "stage 0 waits for ever");
  const std::vector<base::Fault> faults = spec::check(toy::draft({.pp = 2, .vpp = 2, .microbatches = 3}));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "training.global_batch");
}

/// The last stage first and each microbatch's backward before the next forward: a first stage that runs all its
/// forwards of one group late would wait for ever.
std::vector<Slot> one_at_a_time_backwards(const Pipeline& p) {
  std::vector<Slot> out;
  for (int i = 0; i < p.microbatches; ++i) {
    const int m = p.stage == 0 ? p.microbatches - 1 - i : i;
    out.push_back({Pass::forward, m, 0});
    out.push_back({Pass::backward, m, 0});
  }
  return out;
}

TEST(Schedule, TheOracleSeesOrdersThatDoNotFitTogether) {
  EXPECT_EQ(run_together(one_at_a_time_backwards, 2, 1, 1), "");
  EXPECT_EQ(run_together(one_at_a_time_backwards, 2, 1, 2), "stage 1 receives another parcel");
}

TEST(Gpipe, HoldsEveryMicrobatchAtOnce) {
  for (const Case& c : cases(1)) {
    for (int s = 0; s < c.stages; ++s)
      EXPECT_EQ(most_in_flight(plan::gpipe({s, c.stages, 1, c.microbatches})), c.microbatches);
  }
}

TEST(OneForwardOneBackward, HoldsAtMostAsManyMicrobatchesAsThereAreStagesFromHereOn) {
  // Narayanan et al., SC'21, section 2.2.1: at most p in flight on the first stage, one on the last. Fewer microbatches
  // than that are all in flight.
  for (const Case& c : cases(1)) {
    for (int s = 0; s < c.stages; ++s) {
      const Pipeline p{s, c.stages, 1, c.microbatches};
      EXPECT_EQ(most_in_flight(plan::one_f_one_b(p)), std::min(c.stages - s, c.microbatches)) << told(p);
    }
  }
}

TEST(OneForwardOneBackward, AlternatesOnTheLastStage) {
  const std::vector<Slot> expected{{Pass::forward, 0, 0},  {Pass::backward, 0, 0}, {Pass::forward, 1, 0},
                                   {Pass::backward, 1, 0}, {Pass::forward, 2, 0},  {Pass::backward, 2, 0}};
  EXPECT_EQ(plan::one_f_one_b({3, 4, 1, 3}), expected);
}

TEST(Interleaved, WarmsUpAsMegatronDoes) {
  // Forwards before the first backward: the warm-up, 2 (p - s - 1) + (v - 1) p of m v, and the first of the steady
  // pairs. By hand for p = 4, v = 2, m = 8: 10, 8, 6, 4 and one more.
  const int expected[] = {11, 9, 7, 5};
  for (int s = 0; s < 4; ++s) EXPECT_EQ(forwards_before_first_backward(plan::interleaved({s, 4, 2, 8})), expected[s]);
  // Three chunks: 6 + 8, 4 + 8, 2 + 8, 8.
  const int three[] = {15, 13, 11, 9};
  for (int s = 0; s < 4; ++s) EXPECT_EQ(forwards_before_first_backward(plan::interleaved({s, 4, 3, 8})), three[s]);
}

TEST(Interleaved, RunsNoFurtherAheadWhereThereIsOneGroup) {
  // m = p = 4, v = 2: 2 (p - 1 - s) + (v - 1) p, no more than m v = 8, and the forward that its first backward needs.
  const std::array<int, 4> warm_up{8, 8, 7, 5};
  for (int s = 0; s < 4; ++s) EXPECT_EQ(forwards_before_first_backward(plan::interleaved({s, 4, 2, 4})), warm_up[s]);
}

TEST(Interleaved, GoesThroughChunksInGroupsOfAsManyMicrobatchesAsStages) {
  // p = 2, v = 2, m = 4, last stage. Forward order F00 F10 F01 F11 F20 F30 F21 F31 (microbatch, chunk), backward the
  // same groups with the later chunk first; warm-up 2 (2 - 1 - 1) + (2 - 1) 2 = 2.
  constexpr Pass F = Pass::forward, B = Pass::backward;
  const std::vector<Slot> expected{{F, 0, 0}, {F, 1, 0},                                              // warm-up
                                   {F, 0, 1}, {B, 0, 1}, {F, 1, 1}, {B, 1, 1}, {F, 2, 0}, {B, 0, 0},  // pairs
                                   {F, 3, 0}, {B, 1, 0}, {F, 2, 1}, {B, 2, 1}, {F, 3, 1}, {B, 3, 1},
                                   {B, 2, 0}, {B, 3, 0}};  // cool-down
  EXPECT_EQ(plan::interleaved({1, 2, 2, 4}), expected);
}

TEST(Schedule, OneChunkInterleavedIsOneForwardOneBackward) {
  const Pipeline p{1, 4, 1, 6};
  EXPECT_EQ(plan::orders(Schedule::interleaved, p)[1], plan::one_f_one_b(p));
  EXPECT_EQ(plan::orders(Schedule::one_f_one_b, p)[1], plan::one_f_one_b(p));
  EXPECT_EQ(plan::orders(Schedule::gpipe, p)[1], plan::gpipe(p));
  EXPECT_EQ(plan::orders(Schedule::interleaved, {1, 4, 2, 8})[1], plan::interleaved({1, 4, 2, 8}));
}

TEST(Paired, RunsTheFirstForwardAndTheLastBackwardAloneWithoutAPipeline) {
  const std::vector<Slot> expected{
      {Pass::forward, 0, 0}, {Pass::overlapped, 1, 0, 0, 0}, {Pass::overlapped, 2, 0, 1, 0}, {Pass::backward, 2, 0}};
  EXPECT_EQ(paired({0, 1, 1, 3}), expected);
}

TEST(Paired, WarmsUpOneForwardMoreAsMegatronDoes) {
  // 2 (p - s - 1) + (v - 1) p + 1 forwards, then pairs; p = 4, m = 8.
  const int one_chunk[] = {7, 5, 3, 1}, two_chunks[] = {11, 9, 7, 5};
  for (int s = 0; s < 4; ++s) {
    const auto alone = [&](int chunks) {
      const std::vector<Slot> slots = paired({s, 4, chunks, 8});
      return std::ranges::find(slots, Pass::overlapped, &Slot::pass) - slots.begin();
    };
    EXPECT_EQ(alone(1), one_chunk[s]);
    EXPECT_EQ(alone(2), two_chunks[s]);
  }
}

TEST(Paired, HoldsOneMoreThanThePairsThatRunAlone) {
  // Interleaved: the forward of the first pair is one more than the warm-up, and its backward has not ended.
  for (int s = 0; s < 4; ++s) {
    const Pipeline p{s, 4, 2, 16};
    EXPECT_EQ(most_in_flight(paired(p)), most_in_flight(plan::interleaved(p)) + 1);
  }
  EXPECT_EQ(most_in_flight(paired({0, 1, 1, 4})), 2);
}

}  // namespace
