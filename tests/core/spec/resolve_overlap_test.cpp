// tests/core/spec/resolve_overlap_test.cpp -- what runs beside compute, and what the host issues, where a Job says
// nothing. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/core/spec/small_job.h"

namespace spec {
namespace {

TEST(Resolve, PipelinesOfUnitsKeepThemGatheredWhereTheFrameworkDoes) {
  const auto fsdp = [](int pp, bool given, int zero = 3) {
    Job job = small_job();
    job.strategy.zero = zero;
    job.strategy.pp = pp;
    job.strategy.fsdp_given = job.strategy.reshard_given = job.strategy.sync_given = given;
    job.framework.keeps_pipeline_units = true;
    return resolve(job).strategy.fsdp;
  };
  EXPECT_FALSE(fsdp(2, false).reshard || fsdp(2, false).sync_each_microbatch);
  EXPECT_TRUE(fsdp(1, false).reshard && fsdp(1, false).sync_each_microbatch);
  EXPECT_TRUE(fsdp(2, true).reshard && fsdp(2, true).sync_each_microbatch);  // what the Job says
  // Zero 2 gathers nothing for a backward; its gradients are reduced with the last microbatch all the same.
  EXPECT_FALSE(fsdp(2, false, 2).sync_each_microbatch);
  EXPECT_TRUE(fsdp(1, false, 2).sync_each_microbatch);
}

TEST(Resolve, AKeyOfUnitsLeavesTheOthersToTheFramework) {
  Job job = small_job();
  job.strategy.zero = 3;
  job.strategy.pp = 2;
  job.framework.keeps_pipeline_units = true;
  job.strategy.fsdp_given = true;
  job.strategy.fsdp.prefetch = 2;
  const Fsdp ahead = resolve(job).strategy.fsdp;
  EXPECT_FALSE(ahead.reshard || ahead.sync_each_microbatch);
  job.strategy.reshard_given = true;
  const Fsdp resharded = resolve(job).strategy.fsdp;
  EXPECT_TRUE(resharded.reshard);
  EXPECT_FALSE(resharded.sync_each_microbatch);
}

TEST(Resolve, ATrainerThatAccumulatesWholeGradientsDoesSoWithoutAPipelineToo) {
  const auto fsdp = [](int zero, bool given = false) {
    Job job = small_job();
    job.strategy.zero = zero;
    job.strategy.fsdp_given = job.strategy.sync_given = given;
    job.framework.accumulates_whole = true;
    return resolve(job).strategy.fsdp;
  };
  EXPECT_FALSE(fsdp(2).sync_each_microbatch || fsdp(3).sync_each_microbatch);
  EXPECT_TRUE(fsdp(3).reshard);                     // parameters are gathered anew for each microbatch all the same
  EXPECT_TRUE(fsdp(3, true).sync_each_microbatch);  // what the Job says
  EXPECT_TRUE(fsdp(1).sync_each_microbatch);
}

TEST(Resolve, AFrameworkThatAwaitsItsExchangesOverlapsThemOnlyWithSeveralChunks) {
  const auto overlaps = [](int vpp, bool waits) {
    Job job = small_job();
    job.strategy.pp = 2;
    job.strategy.vpp = vpp;
    job.framework.overlap.p2p = true;
    job.framework.synchronizes_p2p = waits;
    return *resolve(job).strategy.overlap.p2p;
  };
  EXPECT_TRUE(overlaps(1, false));
  EXPECT_FALSE(overlaps(1, true));
  EXPECT_TRUE(overlaps(2, true));
  Job said = small_job();  // what the Job says stands
  said.strategy.pp = 2;
  said.strategy.overlap.p2p = true;
  said.framework.synchronizes_p2p = true;
  EXPECT_TRUE(*resolve(said).strategy.overlap.p2p);
}

TEST(Resolve, UserbuffersComeWithFp8GpusNvlinkSequenceParallelAndDenseModels) {
  const auto overlap = [](auto change) {
    Job job = small_job();
    job.strategy.tp = 2;
    job.strategy.sp = true;
    job.framework.tp_of_fp8_gpus = TpOverlap::userbuffers;
    job.cluster.node.nvlink.via = Switch::nvswitch;
    job.cluster.node.nvlink.domain = 8;
    job.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = base::TFLOPps(2000);
    change(job);
    return *resolve(job).strategy.overlap.tp;
  };
  EXPECT_EQ(overlap([](Job&) {}), TpOverlap::userbuffers);
  EXPECT_EQ(overlap([](Job& j) { j.strategy.sp = false; }), TpOverlap::none);
  EXPECT_EQ(overlap([](Job& j) { j.cluster.node.nvlink.via = Switch::none; }), TpOverlap::none);
  EXPECT_EQ(overlap([](Job& j) { j.cluster.node.nvlink.domain = 1; }), TpOverlap::none);
  EXPECT_EQ(overlap([](Job& j) { j.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = {}; }), TpOverlap::none);
  EXPECT_EQ(overlap([](Job& j) { j.model.moe = Moe{}; }), TpOverlap::none);
  EXPECT_EQ(overlap([](Job& j) { j.training.precision = Dtype::nvfp4; }), TpOverlap::none);
  EXPECT_EQ(overlap([](Job& j) { j.framework.tp_of_fp8_gpus.reset(); }), TpOverlap::none);
  EXPECT_EQ(overlap([](Job& j) { j.strategy.overlap.tp = TpOverlap::wgrad; }), TpOverlap::wgrad);  // as written
  // No recipe has these without reductions beside the backward.
  EXPECT_EQ(overlap([](Job& j) { j.strategy.overlap.grad_reduce = false; }), TpOverlap::none);
}

TEST(Resolve, ParametersAreGatheredBesideComputeWhereReductionsMustBeAndAre) {
  const auto gathers = [](auto change) {
    Job job = small_job();
    job.strategy.zero = 1;
    job.framework.overlap.param_gather = job.framework.gathers_beside_reductions = true;
    change(job);
    return *resolve(job).strategy.overlap.param_gather;
  };
  EXPECT_TRUE(gathers([](Job& j) { j.strategy.overlap.grad_reduce = true; }));
  EXPECT_FALSE(gathers([](Job& j) { j.strategy.overlap.grad_reduce = false; }));
  EXPECT_TRUE(gathers([](Job& j) {
    j.strategy.overlap.grad_reduce = false;
    j.framework.gathers_beside_reductions = false;
  }));
  EXPECT_TRUE(gathers([](Job& j) {  // as written
    j.strategy.overlap.grad_reduce = false;
    j.strategy.overlap.param_gather = true;
  }));
}

/// small_job on nodes of 4 GPUs, with experts over `ep` ranks, of a model of 2025.
Job experts_of(int ep) {
  Job job = small_job();
  job.cluster.node.gpus = 4;
  job.cluster.nodes = 4;
  job.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 64, .router_bias = true};
  job.strategy.ep = ep;
  job.framework.dispatcher_across_nodes = MoeDispatcher::deepep;
  return job;
}

TEST(Resolve, ExpertsOverSeveralNodesAreReachedAsRecipesOfFp8GpusDo) {
  EXPECT_EQ(resolve(experts_of(8)).strategy.moe_dispatcher, MoeDispatcher::deepep);
  EXPECT_TRUE(assumed(resolve(experts_of(8)), "moe_dispatcher: deepep (recipes of " + small_job().framework.name +
                                                  " for experts over several nodes)"));
  EXPECT_EQ(resolve(experts_of(4)).strategy.moe_dispatcher, MoeDispatcher::alltoall);  // in one node
  Job given = experts_of(8);
  given.strategy.moe_dispatcher_given = true;
  EXPECT_EQ(resolve(given).strategy.moe_dispatcher, MoeDispatcher::alltoall);
  Job older = experts_of(8);
  older.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = {};
  EXPECT_EQ(resolve(older).strategy.moe_dispatcher, MoeDispatcher::alltoall);
}

TEST(Resolve, ModelsOfBeforeDeepEpKeepThePlainExchange) {
  // Mixtral's kind: nothing tells that it is of 2025.
  Job job = experts_of(8);
  job.model.moe->router_bias = false;
  EXPECT_EQ(resolve(job).strategy.moe_dispatcher, MoeDispatcher::alltoall);
  job.model.moe->experts = 128;
  EXPECT_EQ(resolve(job).strategy.moe_dispatcher, MoeDispatcher::deepep);
  job.model.moe->experts = 64;  // Qwen2's
  EXPECT_EQ(resolve(job).strategy.moe_dispatcher, MoeDispatcher::alltoall);
  // A GPU of 2025 makes no recipe for few experts another's.
  job.cluster.node.gpu.generation = Generation::blackwell;
  EXPECT_EQ(resolve(job).strategy.moe_dispatcher, MoeDispatcher::alltoall);
}

TEST(Resolve, SlowHostsCaptureAllButTheExperts) {
  Job job = experts_of(8);
  job.framework.graphs_on_slow_hosts = true;
  EXPECT_EQ(resolve(job).strategy.cuda_graphs, CudaGraphs::none);
  job.cluster.node.host.launch_slowdown = 2.75;
  EXPECT_EQ(resolve(job).strategy.cuda_graphs, CudaGraphs::none);  // GH200, for which there is no such recipe
  job.cluster.node.gpu.generation = Generation::blackwell;
  EXPECT_EQ(resolve(job).strategy.cuda_graphs, CudaGraphs::beside_experts);
  EXPECT_TRUE(
      assumed(resolve(job), "cuda_graphs: beside_experts (recipes of " + job.framework.name + " for slow hosts)"));
  job.strategy.cuda_graphs = CudaGraphs::none;  // as the Job says
  EXPECT_EQ(resolve(job).strategy.cuda_graphs, CudaGraphs::none);
  Job dense = small_job();
  dense.framework.graphs_on_slow_hosts = true;
  dense.cluster.node.host.launch_slowdown = 2.75;
  dense.cluster.node.gpu.generation = Generation::blackwell;
  EXPECT_EQ(resolve(dense).strategy.cuda_graphs, CudaGraphs::whole);
}

TEST(Resolve, DecodingIsCapturedWithStagesToo) {
  // Megatron's wait for each exchange is one of training.
  Job job = small_job();
  job.framework.synchronizes_p2p = true;
  job.strategy.pp = 2;
  EXPECT_EQ(resolve(job).strategy.cuda_graphs, CudaGraphs::none);
  job.training.mode = Mode::decode;
  EXPECT_EQ(resolve(job).strategy.cuda_graphs, CudaGraphs::whole);
}

TEST(Resolve, ModulesOfFp8GpusKeepTheHostBusier) {
  Job job = experts_of(4);
  job.framework.module_launch = base::us(74);
  job.framework.module_launch_of_fp8_gpus = base::us(115);
  EXPECT_NEAR(resolve(job).framework.module_launch.si(), 115e-6, 1e-12);
  job.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = {};
  EXPECT_NEAR(resolve(job).framework.module_launch.si(), 74e-6, 1e-12);
}

}  // namespace
}  // namespace spec
