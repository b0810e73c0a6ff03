// tests/reports/views_test.cpp -- text views of results made by hand, word for word: no price moves them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reports/collectives.h"
#include "reports/comparison.h"
#include "reports/explanation.h"
#include "reports/limits.h"
#include "reports/scaling.h"
#include "reports/search.h"
#include "reports/shortfall.h"
#include "reports/text.h"
#include "tests/reports/sample.h"
#include "tests/reports/view.h"

namespace {

using testing_support::expect_golden;
using testing_support::expect_view;
using Status = result::ComparisonRow::Status;

/// tp 4 fits, tp 2 needs 90 GB of 80, tp 3 is refused.
result::Comparison comparison() {
  result::Comparison c;
  c.rows = {{Status::fits, "a.yaml", {{"strategy.tp", "4"}}, sample::prediction(), ""},
            {Status::does_not_fit, "a.yaml", {{"strategy.tp", "2"}}, sample::too_large(), ""},
            {Status::refused, "a.yaml", {{"strategy.tp", "3"}}, {}, "strategy.tp: 32 heads do not divide by 3"}};
  return c;
}

/// Two strategies that cannot be told apart, a third that is 10 % slower.
result::Search search() {
  const auto choices = [](const char* tp, const char* dp, const char* recompute) {
    return result::Choices{{"tp", tp},
                           {"sp", "true"},
                           {"cp", "1"},
                           {"pp", "1"},
                           {"dp", dp},
                           {"zero", "1"},
                           {"micro_batch", "1"},
                           {"recompute", recompute},
                           {"attention_kernel", "flash3"},
                           {"overlap.tp", "none"}};
  };
  const auto row = [](result::Choices strategy, double step_time_s, bool tied) {
    result::SearchRow out{std::move(strategy), sample::prediction(), step_time_s, tied, 1.25, 0};
    out.prediction.step_time_s = step_time_s;
    return out;
  };
  result::Search s;
  s.job = "toy on 2 x toy (16 GPUs)";
  s.by = "cost";
  s.strategies = s.evaluated = 1200;
  s.fits = 1000;
  s.priced = 400;
  s.bounded = 600;
  s.operator_level = 3;
  s.elapsed_s = 0.5;
  s.results = {row(choices("4", "4", "none"), 10, false), row(choices("2", "8", "selective"), 10.1, true),
               row(choices("8", "2", "none"), 11, false)};
  s.pareto = {{choices("4", "4", "none"), 10, 10, 70'000'000'000}, {choices("8", "2", "none"), 11, 11, 40'000'000'000}};
  s.space = {{"tp", false, {{"2", 400}, {"4", 400}, {"8", 400}}}, {"pp", true, {{"1", 1200}}}};
  s.left_out = {{"offload", "to the host's memory"}};
  s.notes = {"cp: 2 does not divide the sequence"};
  return s;
}

/// 8 GPUs run it, 16 do at 90 %, 24 are refused, and efficiency falls under 80 % between 16 and 32.
result::Scaling scaling() {
  const auto point = [](int gpus, double efficiency) {
    result::ScalingPoint out{gpus, 128, {Status::fits, "", {}, sample::prediction(), ""}, efficiency};
    out.row.prediction.gpus = gpus;
    return out;
  };
  result::ScalingPoint refused{
      24, 0, {Status::refused, "", {}, {}, "training.global_batch: 128 is no multiple of 24"}, 0};
  result::Scaling s;
  s.job = "toy on 2 x toy (16 GPUs)";
  s.efficiency = 0.8;
  s.curves = {{result::ScalingKind::strong,
               {point(8, 1), point(16, 0.9), refused, point(32, 0.7)},
               8,
               result::ScalingFall{16, 32, 22.6}}};
  return s;
}

/// A sequence that can grow, a microbatch of which no value fits, a width that is not varied.
result::Limits limits() {
  result::Limits l;
  l.given = sample::prediction();
  l.parameters = 8'000'000'000;
  result::Limit sequence, micro_batch, width;
  sequence.size = "sequence";
  sequence.unit = "tokens";
  sequence.given = 8192;
  sequence.reached = 10240;
  sequence.settings = {{"training.sequence", "10240"}};
  sequence.parameters = 8'000'000'000;
  sequence.prediction = sample::prediction();
  sequence.next = 12288;
  sequence.next_prediction.peak_bytes = 90'000'000'000;
  micro_batch.size = "micro_batch";
  micro_batch.given = 4;
  width.size = "width";
  width.refusal = "the model is a list of layers";
  l.limits = {sequence, micro_batch, width};
  return l;
}

result::CollectiveTable collective() {
  result::CollectiveTable t;
  t.op = "all_reduce";
  t.node = "toy";
  t.fabric = "rails";
  t.nodes = 2;
  t.gpus = 8;
  t.ranks = 16;
  t.domains = 2;
  // 16 ranks: bus bandwidth is 15/8 of the algorithm's.
  t.rows = {{1024, 20e-6, 18e-6, 25e-6, 51.2e6, 96e6, "tree", "LL", "toy.tree", "a table", true, false},
            {1 << 30, 10e-3, 9e-3, 12e-3, 107e9, 201e9, "ring", "Simple", "toy.ring", "a table", true, true}};
  t.warnings = {"1 GiB is beyond the sizes that were measured"};
  return t;
}

/// 6 s of matmuls, 3 of tp, 1 of the host.
result::Explanation explanation() {
  result::Explanation e;
  e.job = "toy on 2 GPUs";
  e.step_time_s = 10;
  e.categories = {{"matmul", 6, 1200}, {"tp", 3, 30}, {"host", 1, 2}};
  e.stages = {{"1", 7.5, 1000}, {"0", 2.5, 232}};
  e.operators = {{"matmul", "qkv", "forward", 1200, 6, 0.005, "FLOP/s", 500e12, 0.5},
                 {"tp", "qkv all-gather", "forward", 30, 3, 0.1, "B/s", 300e9, 0.75}};
  e.what_if = {{"matmul", 4}, {"tp", 7.5}};
  return e;
}

TEST(Views, OfAPredictionInColourOnANarrowTerminal) {
  expect_golden("predict_in_colour.txt", reports::summary(sample::too_large(), {72, true}));
}
TEST(Views, OfAComparison) {
  expect_view("compare.txt", [](const reports::Style& s) { return reports::text(comparison(), s); });
}
TEST(Views, OfAComparisonInColour) { expect_golden("compare_in_colour.txt", reports::text(comparison(), {100, true})); }
TEST(Views, OfASearch) {
  expect_view("search.txt", [](const reports::Style& s) { return reports::text(search(), s); });
}
TEST(Views, OfASearchInColour) { expect_golden("search_in_colour.txt", reports::text(search(), {100, true})); }
TEST(Views, OfASearchShowWhatTakesClearlyLessMemoryAndTheLast) {
  // Of 100 GB the next that is shown takes 85 or less: 80, and 79 because it is the last.
  result::Search s = search();
  s.pareto.assign(4, s.pareto.front());
  const std::int64_t gigabytes[] = {100, 95, 80, 79};
  for (std::size_t i = 0; i < s.pareto.size(); ++i) s.pareto[i].peak_bytes = gigabytes[i] * 1'000'000'000;
  const std::string text = reports::text(s);
  for (const char* shown : {"100 GB", "80.0 GB", "79.0 GB", "and 1 between these"}) {
    EXPECT_NE(text.find(shown), std::string::npos) << shown << '\n' << text;
  }
  EXPECT_EQ(text.find("95.0 GB"), std::string::npos) << text;
}
TEST(Views, OfASearchMarkWhatHardlyFits) {
  result::Search s = search();
  s.results[1].tight = true;
  const std::string text = reports::text(s);
  EXPECT_NE(text.find("2=    10.1 s  x1.010 40.0 % 60.0 GB    75% tight  tp 2 sp"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\ntight: so near to all of the memory that it may not fit"), std::string::npos) << text;
  testing_support::expect_fits([&](const reports::Style& style) { return reports::text(s, style); });
}
TEST(Views, OfASearchWhereNothingFitsTellTheNearest) {
  // 90 GB of 80.
  result::Search s = search();
  s.nearest = std::move(s.results.front());
  s.nearest->prediction = sample::too_large();
  s.nearest->prediction.attack = "activations";
  s.nearest->prediction.mends = {"--recompute full", "--zero 3"};
  s.nearest->prediction.mend_step_times_s = {9.5, 12.75};
  s.results.clear();
  EXPECT_NE(reports::text(s).find("Nothing fits.\n\n"
                                  "Nearest comes tp 4 sp, dp 4, zero 1, micro_batch 1, recompute none, flash3, "
                                  "overlap.tp none: 90.0 GB\n"
                                  "              needed, 80.0 GB there (10.0 GB too much). Attack activations.\n"
                                  "    it fits with --recompute full   9.50 s\n"
                                  "              or --zero 3           12.8 s\n"),
            std::string::npos)
      << reports::text(s);
  EXPECT_EQ(reports::text(s).find("nodes on"), std::string::npos);
  s.nodes_that_fit = 3;
  EXPECT_NE(reports::text(s).find("12.8 s\nStrategies fit from 3 nodes on (--nodes 3).\n"), std::string::npos)
      << reports::text(s);
  s.nearest->prediction.mends.clear();
  s.nearest->prediction.mend_step_times_s.clear();
  EXPECT_NE(reports::text(s).find("No change that"), std::string::npos);
}
TEST(Views, LeaveNothingBehindTheLastFlagOfAChangeThatMakesItFit) {
  // 9 columns in front and 9 of the time leave 54 of 72; the flags take 83: two lines, and the time below.
  result::Prediction p = sample::too_large();
  p.mends = {"--zero 3 --set strategy.offload.optimizer=cpu --set strategy.offload.parameters=cpu"};
  p.mend_step_times_s = {22.3};
  EXPECT_EQ(reports::mend_lines(p, "    with ", "    or   ", 72),
            "    with --zero 3 --set strategy.offload.optimizer=cpu --set\n"
            "         strategy.offload.parameters=cpu\n"
            "         takes 22.3 s\n");
  EXPECT_EQ(reports::mend_words(p), std::vector<std::string>{p.mends.front() + " (22.3 s)"});
}
TEST(Views, OfASearchThatWasInterruptedDoNotSayThatNothingFits) {
  result::Search s = search();
  s.results.clear();
  EXPECT_NE(reports::text(s).find("Nothing fits."), std::string::npos);
  s.complete = false;
  const std::string text = reports::text(s);
  EXPECT_EQ(text.find("Nothing fits"), std::string::npos) << text;
  EXPECT_NE(text.find("Nothing that fits was found so far."), std::string::npos) << text;
  EXPECT_NE(text.find("Interrupted: the rest was not looked at."), std::string::npos) << text;
}
TEST(Views, OfASearchLeaveOutAKernelThatAStrategyDoesNotTell) {
  result::Search s = search();
  for (result::SearchRow& row : s.results)
    std::erase_if(row.strategy, [](auto& c) { return c.first == "attention_kernel"; });
  s.pareto.clear();
  EXPECT_EQ(reports::text(s).find("flash3"), std::string::npos);
  EXPECT_NE(reports::text(s).find("selective, overlap.tp none\n"), std::string::npos) << reports::text(s);
}
TEST(Views, OfScaling) {
  expect_view("scale.txt", [](const reports::Style& s) { return reports::text(scaling(), s); });
}
TEST(Views, OfScalingSaysUpToWhereEfficiencyIsKnown) {
  // 8 and 16 GPUs run it, 24 are refused, 32 run it.
  result::Scaling s = scaling();
  s.curves.front().falls.reset();
  EXPECT_NE(reports::text(s).find("stays at 80.0 % or above.\n"), std::string::npos) << reports::text(s);
  s.curves.front().points.pop_back();
  EXPECT_NE(reports::text(s).find("stays at 80.0 % or above, up to the 16 GPUs that run it.\n"), std::string::npos)
      << reports::text(s);
}
TEST(Views, OfScalingThatFitsNowhereSaysOverWhatItsEfficiencyIs) {
  const std::string told = "It fits on none of them: efficiency is over the fewest GPUs that run it.\n";
  result::Scaling s = scaling();
  EXPECT_EQ(reports::text(s).find(told), std::string::npos) << reports::text(s);
  for (result::ScalingPoint& point : s.curves.front().points) {
    if (point.row.status == Status::fits) point.row.status = Status::does_not_fit;
  }
  EXPECT_NE(reports::text(s).find(told), std::string::npos) << reports::text(s);
}
TEST(Views, OfLimits) {
  expect_view("fit.txt", [](const reports::Style& s) { return reports::text(limits(), s); });
}
TEST(Views, OfLimitsMarkWhatHardlyFits) {
  result::Limits l = limits();
  l.limits[0].tight = true;
  const std::string text = reports::text(l);
  EXPECT_NE(text.find("60.0 GB of 80.0 GB, tight\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ntight: so near to all of the memory"), std::string::npos) << text;
}
TEST(Views, OfLimitsWarnOfWhatTheJobAsGivenHasNot) {
  result::Limits l = limits();
  EXPECT_EQ(reports::text(l).find("Warning"), std::string::npos);
  l.limits[0].warnings = {"a sequence of 10240 tokens is beyond the model's maximum of 8192"};
  EXPECT_TRUE(reports::text(l).ends_with(
      "\n\nWarning: sequence: a sequence of 10240 tokens is beyond the model's maximum of 8192\n"))
      << reports::text(l);
}
TEST(Views, OfACollective) {
  expect_view("collective.txt", [](const reports::Style& s) { return reports::collective_text(collective(), s); });
}
TEST(Views, OfAnExplanation) {
  expect_view("explain.txt", [](const reports::Style& s) { return reports::text(explanation(), s); });
}
TEST(Views, OfAnExplanationInColourOnAWideTerminal) {
  expect_golden("explain_in_colour.txt", reports::text(explanation(), {120, true}));
}
TEST(Views, OfScalingInColourOnANarrowTerminal) {
  expect_golden("scale_in_colour.txt", reports::text(scaling(), {80, true}));
}
TEST(Views, OfLimitsInColourOnANarrowTerminal) {
  expect_golden("fit_in_colour.txt", reports::text(limits(), {80, true}));
}

}  // namespace
