// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/spec/small_job.h"

namespace spec {
namespace {

TEST(Warnings, TellWhatIsOddAndNoFault) {
  Job job = small_job();
  job.cluster.node.calibration.name = "chip";
  EXPECT_TRUE(warnings(job).empty());
  job.model.max_positions = 1024;
  EXPECT_TRUE(warnings(job).empty());  // 1024 tokens are just within
  job.model.max_positions = 1023;
  job.strategy.tp = 16;
  job.cluster.node.calibration.name.clear();
  EXPECT_EQ(warnings(job).size(), 3u);
}

TEST(Warnings, TellOfAMakersGpusBehindAnothersSwitch) {
  Job job = small_job();
  const auto told = [&] {
    return std::ranges::any_of(warnings(job),
                               [](const auto& w) { return w.starts_with("cluster.node: chip is AMD's"); });
  };
  EXPECT_FALSE(told());
  job.cluster.node.gpu.generation = Generation::cdna3;
  EXPECT_TRUE(told());
  job.cluster.node.nvlink.via = Switch::mesh;
  EXPECT_FALSE(told());
}

TEST(Warnings, TellOfCurvesOfAnotherGeneration) {
  Job job = small_job();
  spec::Calibration& curves = job.cluster.node.calibration;
  curves.name = "chip";
  curves.gpu = "elder";
  curves.generation = job.cluster.node.gpu.generation;  // of one generation, as A100s of two sizes are
  EXPECT_TRUE(warnings(job).empty());
  curves.generation = Generation::volta;
  job.cluster.node.gpu.name = "younger";
  job.cluster.node.gpu.generation = Generation::hopper;
  EXPECT_EQ(warnings(job), std::vector<std::string>{"the curves of calibration chip were fitted to elder (volta): "
                                                    "kernels of younger (hopper) are others"});
}

TEST(Warnings, TellThatASeedDrawsNothingWhereJitterIsAMean) {
  Job job = small_job();
  job.cluster.node.calibration.name = "chip";
  job.simulation.jitter = 0.1;
  job.simulation.seed = 7;
  EXPECT_EQ(warnings(job),
            (std::vector<std::string>{
                "simulation.seed draws kernels with unfold: true alone; without it jitter is a mean over "
                "draws"}));
  job.simulation.unfold = true;
  EXPECT_EQ(warnings(job), std::vector<std::string>{});
}

TEST(Warnings, TellOfAnNvlinkDomainThatIsSmallerThanTheOthers) {
  const auto told = [](int nodes) {
    Job job = small_job();
    job.cluster.node.calibration.name = "chip";
    job.cluster.node.nvlink.domain = 18 * job.cluster.node.gpus;
    job.cluster.nodes = nodes;
    return warnings(job);
  };
  EXPECT_TRUE(told(18).empty());
  EXPECT_TRUE(told(36).empty());
  EXPECT_EQ(told(19), std::vector<std::string>{"19 nodes fill NVLink domains of 18 unevenly: the last has 1, whose "
                                               "cards set the pace of what crosses"});
}

TEST(Warnings, TellWhatServingDoesNotDo) {
  Job job = small_job();
  job.cluster.node.calibration.name = "chip";
  job.training.mode = Mode::prefill;
  EXPECT_TRUE(warnings(resolve(job)).empty());  // what resolve() fills in was not asked for
  job.training.optimizer = Optimizer::sgd;
  job.training.packing = Packing{{}, 512, 0};
  job.training.master_weights = true;
  job.training.gradient_dtype = Dtype::bf16;
  job.strategy.overlap.grad_reduce = true;
  job.strategy.overlap.param_gather = false;
  std::vector<std::string> keys;
  for (const std::string& line : warnings(resolve(job))) keys.push_back(line.substr(0, line.find(' ')));
  EXPECT_EQ(keys, (std::vector<std::string>{"optimizer", "packing", "master_weights", "gradient_dtype",
                                            "overlap.grad_reduce", "overlap.param_gather"}));
}

TEST(Warnings, SequencesThatDecodeOneAfterAnother) {
  // 64 sequences over 16 replicas, one a microbatch: four take turns. Two stages of 8 replicas keep two busy, of eight.
  const auto told = [](int pp) {
    Job job = small_job();
    job.cluster.node.calibration.name = "chip";
    job.training.mode = Mode::decode;
    job.strategy.pp = pp;
    return warnings(resolve(job));
  };
  EXPECT_EQ(told(1),
            std::vector<std::string>{"4 microbatches decode one after another: micro_batch: 4 decodes them at once"});
  EXPECT_EQ(told(2), std::vector<std::string>{"8 microbatches decode one after another: micro_batch: 4 decodes as many "
                                              "as there are stages"});
}

TEST(Warnings, TellOfKeysThatNothingReads) {
  const auto told = [](auto change) {
    Job job = small_job();
    job.cluster.node.calibration.name = "chip";
    change(job);
    return warnings(job);
  };
  const auto experts = [](Job& j) { j.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 64}; };
  EXPECT_EQ(told([](Job& j) { j.strategy.moe_dispatcher = MoeDispatcher::deepep; }),
            std::vector<std::string>{"moe_dispatcher has no effect on a model without experts"});
  EXPECT_EQ(told([&](Job& j) { experts(j), j.strategy.moe_dispatcher = MoeDispatcher::deepep; }).size(), 0u);
  EXPECT_EQ(told([&](Job& j) {
              experts(j), j.model.moe->shared_ffn = 64;
              j.strategy.moe_dispatcher = MoeDispatcher::deepep, j.strategy.overlap.shared_expert = true;
            }),
            std::vector<std::string>{"overlap.shared_expert with moe_dispatcher deepep: Megatron refuses to start so, "
                                     "but with alltoall"});
  EXPECT_EQ(told([](Job& j) {
              j.training.wide_layers = {1, 1};
            }),
            std::vector<std::string>{"wide_layers has no effect with precision bf16"});
  EXPECT_EQ(told([](Job& j) {
              j.model.kind = "layers";
              j.training.sequence = 0;
              j.training.packing = Packing{{}, 512, 0};
            }),
            std::vector<std::string>{"packing has no effect on a model that is a list of operators"});
  EXPECT_EQ(told([](Job& j) {
              j.strategy.tp = j.strategy.pp = 1;
              j.strategy.sp = true;
              j.strategy.overlap.tp = TpOverlap::userbuffers;
              j.strategy.overlap.p2p = false;
            }),
            (std::vector<std::string>{"sp has no effect with tp 1", "overlap.tp has no effect with tp 1",
                                      "overlap.p2p has no effect with pp 1"}));
  const auto selective = [](AttentionKernel kernel) {
    return [kernel](Job& j) {
      j.strategy.recompute.kind = Recompute::Kind::selective;
      j.strategy.attention_kernel = kernel;
    };
  };
  EXPECT_EQ(told(selective(AttentionKernel::flash2)),
            std::vector<std::string>{
                "recompute: selective frees no memory under flash2, which writes no scores: none is faster"});
  EXPECT_EQ(told(selective(AttentionKernel::fused_softmax)), std::vector<std::string>{});
  EXPECT_EQ(told(selective(AttentionKernel::sparse)), std::vector<std::string>{});
  EXPECT_EQ(told([&](Job& j) { experts(j), j.strategy.moe_capacity_factor = 4; }),
            std::vector<std::string>{});  // 8 / 2
  EXPECT_EQ(told([&](Job& j) { experts(j), j.strategy.moe_capacity_factor = 4.5; }),
            std::vector<std::string>{
                "moe_capacity_factor above experts / top_k, where an expert has room for every token, only pads"});
  EXPECT_EQ(
      told([&](Job& j) { experts(j), j.strategy.moe_capacity_factor = 4.5, j.strategy.moe_pad_to_capacity = false; }),
      std::vector<std::string>{
          "moe_capacity_factor above experts / top_k, where an expert has room for every token, drops none"});
  EXPECT_EQ(told([&](Job& j) { experts(j), j.strategy.moe_pad_to_capacity = true; }),
            std::vector<std::string>{"moe_pad_to_capacity has no effect without moe_capacity_factor"});
  EXPECT_EQ(told([&](Job& j) {
              experts(j);
              j.strategy.ep = 1;
              j.strategy.overlap.shared_expert = true;
              j.strategy.overlap.expert = true;
              j.strategy.zero = 0;
              j.strategy.overlap.param_gather = true;
              j.strategy.recompute.kind = Recompute::Kind::selective;
              j.strategy.recompute.modules.shared_experts = j.strategy.recompute.modules.mlp = true;
            }),
            (std::vector<std::string>{"overlap.shared_expert has no effect on a model without shared experts",
                                      "recompute of shared_experts has no effect on a model without them",
                                      "recompute of mlp has no effect on a model whose layers all have experts",
                                      "overlap.expert has no effect with ep 1",
                                      "overlap.param_gather has no effect with zero 0"}));
  EXPECT_EQ(told([](Job& j) {
              j.strategy.cp_kind = CpKind::ulysses;
              j.strategy.cp_balance = CpBalance::none;
              j.strategy.embedding_in_split = true;
              j.strategy.vocab_barriers = 1;
            }),
            (std::vector<std::string>{"cp_kind has no effect with cp 1", "cp_balance has no effect with cp 1",
                                      "embedding_in_split has no effect with pp 1",
                                      "vocab_barriers has no effect without vocab_parallel: pipeline"}));
}

}  // namespace
}  // namespace spec
