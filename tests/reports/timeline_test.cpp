// SPDX-License-Identifier: Apache-2.0
#include "reports/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace {

using reports::timeline;
using reports::Window;
using result::PassKind;
using result::SchedulePass;

std::vector<const SchedulePass*> pointers(const std::vector<SchedulePass>& passes) {
  std::vector<const SchedulePass*> out;
  for (const SchedulePass& pass : passes) out.push_back(&pass);
  return out;
}

/// "FFB.": a letter a cell.
std::string drawn(const std::vector<SchedulePass>& passes, Window window, int cells) {
  std::string out;
  for (const SchedulePass* pass : timeline(pointers(passes), window, cells)) {
    out += pass ? std::string("FBWVO")[static_cast<std::size_t>(pass->kind)] : '.';
  }
  return out;
}

TEST(Timeline, WholeCellsShowWhatRunsInThem) {
  const std::vector<SchedulePass> passes{{PassKind::forward, 0, 0, 0, 1}, {PassKind::backward, 0, 0, 2, 4}};
  EXPECT_EQ(drawn(passes, {0, 5}, 5), "F.BB.");
  EXPECT_EQ(drawn(passes, {0, 5}, 10), "FF..BBBB..");
}

TEST(Timeline, AWindowShowsItsPartOfTheStep) {
  const std::vector<SchedulePass> passes{{PassKind::forward, 0, 0, 0, 1}, {PassKind::backward, 0, 0, 2, 4}};
  EXPECT_EQ(drawn(passes, {1, 3}, 2), ".B");
}

TEST(Timeline, ACellShowsThePassThatHasMostOfIt) {
  const std::vector<SchedulePass> passes{{PassKind::forward, 7, 0, 0, 0.4}, {PassKind::forward, 8, 0, 0.4, 1}};
  EXPECT_EQ(timeline(pointers(passes), {0, 1}, 1).front()->microbatch, 8);
}

TEST(Timeline, PassesShorterThanACellHaveTheCellsThatTheirTimeAsksFor) {
  // 100 forwards of 1 and backwards of 2 in 30 cells of 10: 10 cells show forwards, 20 backwards.
  std::vector<SchedulePass> passes;
  for (int i = 0; i < 100; ++i) {
    passes.push_back({PassKind::forward, i, 0, 3.0 * i, 3.0 * i + 1});
    passes.push_back({PassKind::backward, i, 0, 3.0 * i + 1, 3.0 * i + 3});
  }
  const std::string line = drawn(passes, {0, 300}, 30);
  EXPECT_EQ(std::count(line.begin(), line.end(), 'F'), 10) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), 'B'), 20) << line;
}

TEST(Timeline, OfRandomPassesEveryCellShowsWhatRunsInItAndEveryKindItsShare) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> length(0.01, 3);
  for (int round = 0; round < 50; ++round) {
    std::vector<SchedulePass> passes;
    double at = 0, busy = 0;
    while (at < 60) {
      const double idle = random() % 3 == 0 ? length(random) : 0, lasts = length(random);
      const PassKind kind = random() % 2 ? PassKind::forward : PassKind::backward;
      passes.push_back({kind, 0, 0, at + idle, at + idle + lasts});
      at += idle + lasts;
      busy += lasts;
    }
    const int cells = 40;
    const auto line = timeline(pointers(passes), {0, at}, cells);
    int shown = 0;
    for (int cell = 0; cell < cells; ++cell) {
      if (!line[cell]) continue;
      ++shown;
      EXPECT_LT(line[cell]->start_s, at / cells * (cell + 1));
      EXPECT_GT(line[cell]->end_s, at / cells * cell);
    }
    // What a kind lacks is never more than a cell for each of the three that may stand in its place.
    EXPECT_NEAR(shown, busy / at * cells, 3);
  }
}

}  // namespace
