// tests/reports/html/measured_page_test.cpp -- what the page of a measured step holds, of GPUs and of a CPU.
// SPDX-License-Identifier: Apache-2.0
#include "reports/html/measured_page.h"

#include <gtest/gtest.h>
#include <cmath>

#include <sstream>
#include <string>

#include "tests/reports/sample.h"

namespace {

using result::DifferencePart;
using result::MeasuredRun;
using result::OperatorTime;
using result::StepDifference;
using Kind = DifferencePart::Kind;

constexpr std::int64_t kMs = 1'000'000'000;  // picoseconds

/// Predicted: 50 + 10 + 3 = 63 ms; measured: 51 + 21 + 8 = 80 ms.
StepDifference difference(const std::string& source) {
  StepDifference d;
  d.job = "llama3-8b on 1 x dgx-h100";
  d.source = source;
  d.trace = "t.json";
  d.predicted_ps = 63 * kMs;
  d.measured_ps = 80 * kMs;
  const OperatorTime gathers{4, 20 * kMs, 0, 10 * kMs, 0}, slow{4, 42 * kMs, 0, 21 * kMs, 0};
  d.parts = {
      {Kind::operators, "all_gather dp", "gather", "forward", gathers, slow},
      {Kind::idle, "idle", "qkv", "forward", {1, 3 * kMs, 0, 3 * kMs, 0}, {9, 8 * kMs, 0, 8 * kMs, 0}},
      {Kind::operators, "matmul", "qkv", "forward", {8, 50 * kMs, 0, 50 * kMs, 0}, {8, 51 * kMs, 0, 51 * kMs, 0}}};
  d.families = d.parts;
  for (DifferencePart& part : d.families) part.name = part.phase = "";
  d.operators = {{"gather", "all_gather dp", "gather", "forward", 0, 0, 3, true, true, 0, 7, gathers, slow},
                 {"compute", "norm", "norm", "forward", 0, 0, 3, true, false, 0, 0, gathers, {}}};
  d.notes = {"a note of the record"};
  return d;
}

/// Two ranks; the fullest took 3 GB where the Plan counts 2.5.
MeasuredRun recorded(const std::string& backend) {
  MeasuredRun r;
  r.job = "tiny on 2 ranks";
  r.backend = backend;
  r.ranks = 2;
  r.losses = {3.5, 3.25};
  r.gradient_norms = {1.5, std::nullopt};
  r.memory = {1,
              {{"parameters", 1'000'000'000}, {"activations", 2'000'000'000}, {"logits", 0}},
              {{"parameters", 1'000'000'000}, {"activations", 1'500'000'000}, {"logits", 0}},
              0};
  return r;
}

MeasuredRun of_gpus() {
  MeasuredRun r = recorded("gpu");
  r.time = {{0.078, 0.08, 0.09}, 0.08, 0.078, 0.09, 3, 1000, 400, 0.4, false};
  r.memory.reserved_bytes = 4'000'000'000;
  r.cards = {{"NVIDIA H100", 1.755e9, 2.6e9, 650, 61, {"power limit"}}, {"NVIDIA H100", 1.98e9, 2.6e9, 600, 55, {}}};
  r.driver = "580.1";
  return r;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string main_of(const MeasuredRun* run, const StepDifference* difference) {
  const trace::Trace predicted = sample::trace(), measured = sample::trace();
  std::ostringstream out;
  reports::write_html({run, difference, {{"predicted", &predicted}, {"measured", &measured}}, {}, "measure", "1.2.3"},
                      out);
  const std::string page = out.str();
  const std::size_t begin = page.find("<main"), end = page.find("</main>");
  return page.substr(begin, end - begin);
}

TEST(HtmlMeasured, AStepOfGpusIsHeldAgainstThePrediction) {
  // 80 ms over 63 ms: 27.0 % more.
  const MeasuredRun run = of_gpus();
  const StepDifference d = difference("gpu");
  const std::string page = main_of(&run, &d);
  EXPECT_TRUE(has(page,
                  "One training step takes 80.0 ms on 2 GPUs (80 % of steps 78.0 ms to 90.0 ms); 63.0 ms was predicted "
                  "(+27.0 %); the loss goes from 3.5000 to 3.2500 in 2 steps."));
  for (const char* id : {"steps", "timeline", "difference", "losses", "memory", "cards", "notes"}) {
    EXPECT_TRUE(has(page, std::string("<section id=\"") + id + "\"")) << id;
  }
  EXPECT_TRUE(has(page, "all_gather dp takes 2.10 x as long as predicted: +11.0 ms of the step"));
  EXPECT_TRUE(has(page, "<button type=\"button\">Times as long</button>"));
  EXPECT_TRUE(has(page, "data-value=\"2.1\">2.10</td>"));
  EXPECT_TRUE(has(page, "power limit"));
}

TEST(HtmlMeasured, ALossThatIsNoNumberHasNoPlaceInTheChart) {
  MeasuredRun run = of_gpus();
  run.losses = {3.5, NAN};
  const StepDifference d = difference("gpu");
  const std::string page = main_of(&run, &d);
  EXPECT_TRUE(has(page, "the loss goes from 3.5000 to nan in 2 steps."));
  EXPECT_FALSE(has(page, "data-value=\"nan\""));
}

TEST(HtmlMeasured, TimesOfACpuAreNeverComparedWithThoseOfAGpu) {
  const MeasuredRun run = recorded("cpu");
  const StepDifference d = difference("cpu");
  const std::string page = main_of(&run, &d);
  EXPECT_TRUE(has(page,
                  "CPU: the recorded step took 80.0 ms of the CPU, which measures no GPU; the loss goes from "
                  "3.5000 to 3.2500 in 2 steps."));
  EXPECT_TRUE(has(page, "These are times of a CPU. They say nothing of a GPU"));
  for (const char* comparison : {"+27.0 %", "Times as long", "as long as predicted", "Of the step, predicted"}) {
    EXPECT_FALSE(has(page, comparison)) << comparison;
  }
  // Shares of their own step instead: 50 of 63 ms are matmuls by the prediction, 8 of 80 are idle on the CPU.
  EXPECT_TRUE(has(page, ">79.4 %</td>"));
  EXPECT_TRUE(has(page, ">10.0 %</td>"));
  EXPECT_TRUE(has(page, "\"own_scale\":true"));
}

TEST(HtmlMeasured, PredictedStandsOverMeasuredInOneTimeline) {
  const MeasuredRun run = of_gpus();
  const StepDifference d = difference("gpu");
  const std::string page = main_of(&run, &d);
  EXPECT_TRUE(has(page, R"("traces":["predicted","measured"])"));
  EXPECT_TRUE(has(page, "\"own_scale\":false"));
}

TEST(HtmlMeasured, OperatorsWithoutACounterpartAreCounted) {
  const StepDifference d = difference("cpu");
  EXPECT_TRUE(
      has(main_of(nullptr, &d), "1 of 2 predicted operators of rank 0 (stage 0) were measured, and 0 besides."));
}

TEST(HtmlMeasured, MemoryStandsBesideTheLedger) {
  // Activations 2 GB of 1.5: 33.3 % more; all 3 of 2.5: 20 %.
  const MeasuredRun run = of_gpus();
  const std::string page = main_of(&run, nullptr);
  EXPECT_TRUE(has(page, "<th scope=\"row\">activations</th>"));
  EXPECT_TRUE(has(page, ">+33.3 %</td>"));
  EXPECT_TRUE(has(page, ">+20.0 %</td>"));
  EXPECT_TRUE(has(page, "The driver gave the pool 4.00 GB at most"));
  EXPECT_FALSE(has(page, "<th scope=\"row\">logits</th>"));  // nothing on either side
}

TEST(HtmlMeasured, WithoutARecordedStepTheRestIsThere) {
  const MeasuredRun run = of_gpus();
  const std::string page = main_of(&run, nullptr);
  EXPECT_FALSE(has(page, "<section id=\"timeline\""));
  EXPECT_FALSE(has(page, "<section id=\"difference\""));
  EXPECT_TRUE(has(page, "<section id=\"losses\""));
}

TEST(HtmlMeasured, WithoutARunTheRecordedStepIsTold) {
  const StepDifference d = difference("gpu");
  const std::string page = main_of(nullptr, &d);
  EXPECT_TRUE(has(page, "The step took 80.0 ms; 63.0 ms was predicted (+27.0 %)."));
  EXPECT_TRUE(has(page, "llama3-8b on 1 x dgx-h100, held against t.json (gpu)"));
  EXPECT_FALSE(has(page, "<section id=\"losses\""));
}

TEST(HtmlMeasured, TimesOfSharedCardsCarryTheirWarning) {
  MeasuredRun run = of_gpus();
  run.time->shares_cards = true;
  const StepDifference d = difference("gpu");
  const std::string page = main_of(&run, &d);
  EXPECT_TRUE(has(page, "ranks share a card, so that no time here means anything"));
  EXPECT_TRUE(has(page, "These are times of ranks that share a card."));
  for (const char* comparison : {"+27.0 %", "Times as long", "as long as predicted"}) {
    EXPECT_FALSE(has(page, comparison)) << comparison;
  }
}

TEST(HtmlMeasured, KernelsAreTheirOwnTable) {
  StepDifference d = difference("kineto");
  d.by_operator = false;
  d.kernels = {{Kind::only_measured, "matmul", "nvjet_hsh", "", {}, {8, 51 * kMs, 0, 51 * kMs, 0}}};
  const std::string page = main_of(nullptr, &d);
  EXPECT_TRUE(has(page, "<th scope=\"row\">nvjet_hsh</th>"));
  EXPECT_FALSE(has(page, "predicted operators"));
}

TEST(HtmlMeasured, AHostileNameIsText) {
  MeasuredRun run = of_gpus();
  StepDifference d = difference("gpu");
  run.job = run.cards[0].gpu = d.parts[0].name = d.families[0].family = d.notes[0] = "<script>x</script>";
  const std::string page = main_of(&run, &d);
  EXPECT_FALSE(has(page, "<script>x"));
  EXPECT_TRUE(has(page, "&lt;script&gt;x&lt;/script&gt;"));
}

}  // namespace
