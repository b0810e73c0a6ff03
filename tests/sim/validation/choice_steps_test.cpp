// SPDX-License-Identifier: Apache-2.0
#include "sim/validation/choice_steps.h"

#include <gtest/gtest.h>

#include "sim/predict.h"
#include "tests/core/config/small_catalogue.h"

namespace {

using config::parse;
using sim::ChoiceSteps;
using sim::MeasuredJob;
using sim::Selection;

const char* const kChoices = R"(choices:
- name: host
  decides: launch time
  present: fast
  alternatives:
    fast: {source: s, overrides: {frameworks: {megatron: {launch: 5us, backward_launch: 4us}}}}
    slow: {source: s, overrides: {frameworks: {megatron: {launch: 500us, backward_launch: 400us}}}}
- name: step
  decides: host time of a step
  present: one
  alternatives:
    one: {source: s, overrides: {frameworks: {megatron: {step: 1ms}}}}
    ten: {source: s, overrides: {frameworks: {megatron: {step: 10ms}}}}
- name: network
  decides: a curve that no job reads
  present: as is
  alternatives:
    as is: {source: s, overrides: {frameworks: {unused: {step: 1ms}}}}
    other: {source: s, overrides: {frameworks: {unused: {step: 9ms}}}}
)";

class ChoiceStepsOfTwoJobs : public ::testing::Test {
 protected:
  ChoiceStepsOfTwoJobs() {
    small_.add(
        "workloads/frameworks/unused.yaml",
        "{launch: 5us, backward_launch: 4us, collective_launch: 10us, step: 1ms, gradient_bucket: 160MB,\n"
        " parameter_bucket: 160MB, compiled_launch: 3us, context: 1GB, communicator: 400MB, fragmentation: 0.05}\n");
  }
  static config::Value job(const std::string& framework) {
    return parse(
        "{model: small, cluster: {node: box-8}, training: {sequence: 128, global_batch: 16}, strategy: {tp: 2, "
        "framework: " +
            framework + "}}",
        "job.yaml");
  }
  base::Seconds predicted(const std::string& framework, const std::string& overlay) const {
    const config::Catalogue changed = small_.catalogue().with(parse(overlay, "overlay.yaml"));
    return base::Seconds(
        sim::predict(config::read_job(job(framework), changed), sim::Detail::chains).prediction.step_time_s);
  }
  /// One under megatron, one under bare; both measured at a second.
  ChoiceSteps steps() const {
    std::vector<MeasuredJob> jobs;
    for (const std::string framework : {"megatron", "bare"}) {
      MeasuredJob& one =
          jobs.emplace_back(MeasuredJob{job(framework), {}, base::Seconds(1), predicted(framework, "{job: {}}")});
      config::read_job(one.job, small_.catalogue().noting(one.entries));
    }
    const config::Catalogue catalogue = small_.catalogue();
    return {config::read_choices(parse(kChoices, "choices.yaml"), catalogue), catalogue, std::move(jobs)};
  }
  config::testing::SmallCatalogue small_;
};

TEST_F(ChoiceStepsOfTwoJobs, AreThoseOfTheCatalogueWithTheChosenValues) {
  ChoiceSteps steps = this->steps();
  const std::vector<double> both = steps.errors({1, 1, 0});
  const base::Seconds expected =
      predicted("megatron", "{frameworks: {megatron: {launch: 500us, backward_launch: 400us, step: 10ms}}}");
  EXPECT_EQ(both[0], expected / base::Seconds(1) - 1);
  EXPECT_GT(both[0], steps.errors({0, 0, 0})[0]);
  EXPECT_EQ(both[1], steps.errors({0, 0, 0})[1]);  // bare reads neither
}

TEST_F(ChoiceStepsOfTwoJobs, AJobIsPredictedOnceForWhatItReads) {
  ChoiceSteps steps = this->steps();
  EXPECT_EQ(steps.predicted(), 2u);  // megatron's job with the other alternative of host and of step
  steps.errors({1, 0, 0});
  steps.errors({0, 1, 1});
  EXPECT_EQ(steps.predicted(), 2u);
  steps.errors({1, 1, 0});
  steps.errors({1, 1, 1});
  EXPECT_EQ(steps.predicted(), 3u);
}

TEST_F(ChoiceStepsOfTwoJobs, TheSpaceIsTheChoices) {
  const ChoiceSteps steps = this->steps();
  EXPECT_EQ(steps.space().alternatives, (std::vector<std::size_t>{2, 2, 2}));
  EXPECT_EQ(steps.space().present, (Selection{0, 0, 0}));
}

TEST(PublishedChoicesAreTheCatalogues, LaidOverExplicitlyTheyMoveNoStep) {
  // `job` has no file to be compared with, so every present alternative is laid over a Job that reads many entries.
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  config::Catalogue explicitly = catalogue;
  for (const auto& choice :
       config::read_choices(std::string(FORERUN_SOURCE_DIR) + "/validation/choices.yaml", catalogue)) {
    explicitly = explicitly.with(choice.alternatives[choice.present].overrides);
  }
  for (const char* framework : {"torch", "deepspeed", "megatron"}) {
    const config::Value job = parse(
        std::string("{model: llama2-7b, cluster: {node: dgx-a100-80gb, nodes: 2, fabric: efa}, "
                    "training: {sequence: 2048, global_batch: 32}, strategy: {tp: 2, pp: 2, attention_kernel: flash1, "
                    "framework: ") +
            framework + "}}",
        "job.yaml");
    const auto step = [&](const config::Catalogue& from) {
      return sim::predict(config::read_job(job, from), sim::Detail::chains).prediction.step_time_s;
    };
    EXPECT_EQ(step(explicitly), step(catalogue)) << framework;
  }
}

}  // namespace
