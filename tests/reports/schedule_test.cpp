// SPDX-License-Identifier: Apache-2.0
#include "reports/schedule.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/golden.h"

namespace {

using result::PassKind;
using result::Schedule;
using testing_support::expect_golden;

/// Two stages of 1F1B, two microbatches, F 2 s, B 4 s, the optimizer 1 s:
///   stage 0  F0 F1 .. B0.. .... B1..O        .. idle
///   stage 1  .. F0 B0.. F1 B1.. .. ..O
Schedule two_stages() {
  Schedule s;
  s.job = "toy on 2 x toy (2 GPUs): tp 1, pp 2, dp 1, batch 2 x 128";
  s.name = "1f1b";
  s.step_time_s = 19;
  s.bubble_fraction = 6.0 / 19;
  s.stages = {{0,
               {{PassKind::forward, 0, 0, 0, 2},
                {PassKind::forward, 1, 0, 2, 4},
                {PassKind::backward, 0, 0, 8, 12},
                {PassKind::backward, 1, 0, 14, 18},
                {PassKind::ends, -1, -1, 18, 19}}},
              {1,
               {{PassKind::forward, 0, 0, 2, 4},
                {PassKind::backward, 0, 0, 4, 8},
                {PassKind::forward, 1, 0, 8, 10},
                {PassKind::backward, 1, 0, 10, 14},
                {PassKind::ends, -1, -1, 18, 19}}}};
  return s;
}

/// A stage of dualpipe: a forward downwards beside a backward upwards, then the weight gradient.
Schedule both_ways() {
  Schedule s;
  s.job = "toy on 2 x toy (2 GPUs): tp 1, pp 2 dualpipe, dp 1, batch 24 x 128";
  s.name = "dualpipe";
  s.chunks = 2;
  s.step_time_s = 8;
  s.beside = s.two_way = true;
  s.stages = {
      {0,
       {{PassKind::forward, 11, 0, 0, 4}, {PassKind::backward, 3, 1, 0, 5}, {PassKind::weight_gradient, 3, 1, 6, 8}}}};
  return s;
}

std::string line_of(const std::string& text, const std::string& begin) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begin)) return line;
  }
  return "";
}

TEST(ScheduleText, IsGolden) { expect_golden("schedule.txt", reports::text(two_stages(), {9 + 38, false})); }

TEST(ScheduleText, OfForwardsBesideBackwardsIsGolden) {
  expect_golden("schedule_both_ways.txt", reports::text(both_ways(), {9 + 32, false}));
}

TEST(ScheduleText, WithMemoryIsGolden) {
  // 80 GB: 10 are an eighth, 45 round up to five, 85 are too much. A column is half a second.
  Schedule s = two_stages();
  s.capacity_bytes = 80'000'000'000;
  s.stages[0].memory = {{0, 10'000'000'000}, {2, 45'000'000'000}, {4, 85'000'000'000}, {12, 20'000'000'000}};
  s.stages[1].memory = {{0, 0}, {18, 80'000'000'000}};
  expect_golden("schedule_memory.txt", reports::text(s, {9 + 38, false}));
}

TEST(ScheduleText, InColourIsGolden) {
  expect_golden("schedule_in_colour.txt", reports::text(both_ways(), {9 + 32, true}));
}

TEST(ScheduleText, ANumberIsThereOnlyWhereAllOfItHasRoom) {
  // Two cells a second: F0 has four, in which "F1000" has no room and "F100" has.
  Schedule s = two_stages();
  s.stages[0].passes[0].microbatch = 1000;
  EXPECT_EQ(line_of(reports::text(s, {9 + 38, false}), "stage 0"), "stage 0  F░░░F1░░········B0▓▓▓▓▓▓····B1▓▓▓▓▓▓O█");
  s.stages[0].passes[0].microbatch = 100;
  EXPECT_EQ(line_of(reports::text(s, {9 + 38, false}), "stage 0"), "stage 0  F100F1░░········B0▓▓▓▓▓▓····B1▓▓▓▓▓▓O█");
}

TEST(ScheduleText, OddChunksAreSmallLetters) {
  Schedule s = two_stages();
  s.chunks = 3;
  s.stages[0].passes[1].chunk = 1;
  s.stages[0].passes[2].chunk = 2;
  EXPECT_EQ(line_of(reports::text(s, {9 + 38, false}), "stage 0"), "stage 0  F0░░f1░░········B0▓▓▓▓▓▓····B1▓▓▓▓▓▓O█");
}

TEST(ScheduleText, FillsTheWidthAndNoMore) {
  for (const int columns : {60, 100, 173}) {
    std::istringstream lines(reports::text(two_stages(), {columns, false}));
    int widest = 0;
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, reports::columns(line));
    EXPECT_EQ(widest, columns);
  }
}

TEST(ScheduleJson, HasEveryPassWithItsInstants) {
  const auto json = nlohmann::json::parse(reports::json(two_stages()));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["schedule"], "1f1b");
  ASSERT_EQ(json["stages"].size(), 2u);
  const auto& pass = json["stages"][1]["passes"][1];
  EXPECT_EQ(pass["pass"], "backward");
  EXPECT_EQ(pass["microbatch"], 0);
  EXPECT_EQ(pass["start_s"], 4.0);
  EXPECT_EQ(pass["end_s"], 8.0);
  EXPECT_FALSE(json["stages"][1]["passes"][4].contains("microbatch"));  // the optimizer is of none
}

}  // namespace
