// tests/reports/difference_test.cpp -- all views are golden on one difference: an all-gather 2.1 times as slow as
// predicted, a matmul within 3 %, an operator that was not measured, one that nobody predicted, waiting and idle time.
// SPDX-License-Identifier: Apache-2.0
#include "reports/difference.h"

#include <gtest/gtest.h>

#include "tests/reports/view.h"

namespace {

using result::DifferencePart;
using result::OperatorTime;
using result::StepDifference;
using Kind = DifferencePart::Kind;

constexpr std::int64_t kMs = 1'000'000'000;  // picoseconds

/// Predicted: 50 + 10 + 5 + 2 + 3 = 70 ms; measured: 51 + 21 + 4 + 8 + 6 = 90 ms.
StepDifference sample() {
  StepDifference d;
  d.job = "llama3-8b on 1 x dgx-h100 (8 GPUs): tp 1, pp 2, dp 4, zero 3, batch 8 x 8192";
  d.trace = "t.json";
  d.source = "gpu";
  d.rank = 4;
  d.stage = 1;
  d.predicted_ps = 70 * kMs;
  d.measured_ps = 90 * kMs;
  const OperatorTime none;
  const OperatorTime gathers{4, 20 * kMs, 2 * kMs, 10 * kMs, kMs}, slow{4, 42 * kMs, 0, 21 * kMs, 0};
  d.parts = {
      {Kind::operators, "all_gather dp", "gather", "forward", gathers, slow},
      {Kind::idle, "idle", "qkv", "forward", {1, 2 * kMs, 0, 2 * kMs, 0}, {9, 8 * kMs, 0, 8 * kMs, 0}},
      {Kind::only_predicted, "norm", "norm", "backward", {8, 5 * kMs, 0, 5 * kMs, 0}, none},
      {Kind::only_measured, "elementwise", "a, \"b\"", "backward", none, {2, 4 * kMs, 0, 4 * kMs, 0}},
      {Kind::waiting,
       "send_recv pp",
       "receive",
       "forward",
       {4, 3 * kMs, 3 * kMs, 3 * kMs, 3 * kMs},
       {4, 6 * kMs, 6 * kMs, 6 * kMs, 6 * kMs}},
      {Kind::operators, "matmul", "qkv", "forward", {8, 50 * kMs, 0, 50 * kMs, 0}, {8, 51 * kMs, 0, 51 * kMs, 0}}};
  d.families = d.parts;
  for (DifferencePart& part : d.families) part.name = part.phase = "";
  d.operators = {{"gather", "all_gather dp", "gather", "forward", 0, 0, 3, true, true, 0, 7, gathers, slow},
                 {"compute",
                  "elementwise",
                  "a, \"b\"",
                  "backward",
                  1,
                  0,
                  -1,
                  false,
                  true,
                  0,
                  5 * kMs,
                  none,
                  {1, 2 * kMs, 0, 2 * kMs, 0}}};
  d.notes = {"a note of the record"};
  return d;
}

TEST(DifferenceText, IsGolden) {
  testing_support::expect_view("difference.txt", [](const reports::Style& s) { return reports::text(sample(), s); });
}
TEST(DifferenceJson, IsGolden) { testing_support::expect_golden("difference.json", reports::json(sample())); }

TEST(DifferenceText, SaysWhatIsSlowAndWhatIsAsPredicted) {
  const std::string text = reports::summary(sample());
  EXPECT_NE(text.find("Step time 70.0 ms predicted, 90.0 ms measured: +20.0 ms (+28.6 %)"), std::string::npos) << text;
  // 42 of 20 ms; in the step 21 of 10.
  EXPECT_NE(text.find("all_gather dp takes 2.10 x as long as predicted: +11.0 ms of the step"), std::string::npos);
  EXPECT_NE(text.find("within 3 %: matmul"), std::string::npos);
}

TEST(DifferenceText, MemoryBoundKernelsOfAProfileAreOneThing) {
  // By names 10 and 2 ms of copies and norms were predicted, 2 and 9 measured, and 1 ms that nobody predicted: 12
  // of 12.
  StepDifference d = sample();
  d.by_operator = false;
  const auto of = [](std::int64_t ms) { return OperatorTime{ms > 0, ms * kMs, 0, ms * kMs, 0}; };
  d.families = {{Kind::operators, "copy", "", "", of(10), of(2)},
                {Kind::operators, "norm", "", "", of(2), of(9)},
                {Kind::only_measured, "other", "", "", of(0), of(1)},
                {Kind::operators, "optimizer", "", "", of(10), of(20)}};
  const reports::Findings found = reports::findings(d);
  ASSERT_EQ(found.apart.size(), 1u);
  EXPECT_EQ(found.apart[0], "optimizer takes 2.00 x as long as predicted: +10.0 ms of the step");
  EXPECT_EQ(found.close, "memory-bound work (by kernel names: below)");
}

TEST(DifferenceText, NoLineIsWiderThanAScreen) {
  std::string line;
  for (const char c : reports::text(sample())) {
    if (c != '\n') {
      line += c;
      continue;
    }
    EXPECT_LE(line.size(), 100u) << line;
    line.clear();
  }
}

TEST(DifferenceCsv, HasALineForEachOperatorWithEveryPicosecond) {
  EXPECT_EQ(reports::csv(sample()),
            "stream,family,name,phase,microbatch,chunk,layer,predicted_start_s,predicted_s,predicted_waiting_s,"
            "predicted_in_step_s,measured_start_s,measured_s,measured_waiting_s,measured_in_step_s\n"
            "gather,all_gather dp,gather,forward,0,0,3,0.000000000000,0.020000000000,0.002000000000,0.010000000000,"
            "0.000000000007,0.042000000000,0.000000000000,0.021000000000\n"
            "compute,elementwise,\"a, \"\"b\"\"\",backward,1,0,,,,,,0.005000000000,0.002000000000,0.000000000000,"
            "0.002000000000\n");
}

TEST(DifferenceCsv, OfKernelsHasALineForEachKernel) {
  StepDifference d = sample();
  d.by_operator = false;
  d.kernels = {{Kind::only_measured, "matmul", "gemm<1, 2>", "", {}, {8, 51 * kMs, 0, 50 * kMs, 0}}};
  EXPECT_EQ(reports::csv(d),
            "family,name,count,measured_s,measured_in_step_s\nmatmul,\"gemm<1, 2>\",8,0.051000000000,0.050000000000\n");
}

}  // namespace
