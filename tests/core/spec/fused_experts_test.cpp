// tests/core/spec/fused_experts_test.cpp -- which Jobs may have experts whose activation is part of their matmuls, and
// which have them unsaid. SPDX-License-Identifier: Apache-2.0
#include "core/spec/fused_experts.h"

#include <gtest/gtest.h>

#include "tests/core/spec/small_job.h"

namespace spec {
namespace {

/// The small model with 8 gated experts of width 512, in mxfp8 on Blackwell, as Megatron's recipes train it.
Job experts() {
  Job job = small_job();
  job.model.gated_mlp = true;
  job.model.activation = Activation::swiglu;
  job.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 512};
  job.training.precision = Dtype::mxfp8;
  job.cluster.node.gpu.generation = Generation::blackwell;
  job.cluster.node.gpu.peak[static_cast<int>(Dtype::mxfp8)] = base::TFLOPps(2000);
  job.framework.keeps_casts = true;
  job.framework.recipes_of_fp8_gpus = true;
  return job;
}

template <class Change>
Fields asked_for(Change change) {
  Job job = experts();
  job.strategy.fused_kernels.experts = true;
  change(job);
  return fields(job);
}

TEST(FusedExperts, AreRefusedByNameWhereNoKernelIs) {
  const Fields refused{"strategy.fused_kernels.experts"};
  EXPECT_EQ(asked_for([](Job&) {}), Fields{});
  EXPECT_EQ(asked_for([](Job& j) { j.model.moe->ffn = 576; }), Fields{});  // 9 times
  EXPECT_EQ(asked_for([](Job& j) {
              j.model.activation = Activation::clamped_swiglu;  // gpt-oss
              j.model.bias = true;
            }),
            Fields{});
  EXPECT_EQ(asked_for([](Job& j) { j.model.moe.reset(); }), refused);
  EXPECT_EQ(asked_for([](Job& j) { j.training.precision = Dtype::fp8; }), refused);
  EXPECT_EQ(asked_for([](Job& j) { j.cluster.node.gpu.generation = Generation::hopper; }), refused);
  EXPECT_EQ(asked_for([](Job& j) { j.framework.keeps_casts = false; }), refused);
  EXPECT_EQ(asked_for([](Job& j) { j.model.activation = Activation::geglu; }), refused);
  EXPECT_EQ(asked_for([](Job& j) { j.model.moe->ffn = 720; }), refused);  // 11.25 times 64
  EXPECT_EQ(asked_for([](Job& j) { j.strategy.lora = Lora{}; }), refused);
  EXPECT_EQ(asked_for([](Job& j) { j.training.fp8_activation_inputs = true; }), refused);
}

TEST(FusedExperts, ComeWithGraphsOfWholeStepsThatDropNoToken) {
  const auto filled = [](CudaGraphs graphs, auto change) {
    Job job = experts();
    job.strategy.cuda_graphs = graphs;
    change(job);
    return resolve(job).strategy.fused_kernels.experts;
  };
  const auto nothing = [](Job&) {};
  EXPECT_EQ(filled(CudaGraphs::whole, nothing), true);
  EXPECT_EQ(filled(CudaGraphs::none, nothing), false);
  EXPECT_EQ(filled(CudaGraphs::beside_experts, nothing), false);
  EXPECT_EQ(filled(CudaGraphs::whole, [](Job& j) { j.strategy.moe_capacity_factor = 1.25; }), false);
  EXPECT_EQ(filled(CudaGraphs::whole, [](Job& j) { j.training.precision = Dtype::bf16; }), false);
  EXPECT_EQ(filled(CudaGraphs::whole, [](Job& j) { j.framework.recipes_of_fp8_gpus = false; }), false);
  EXPECT_EQ(filled(CudaGraphs::whole, [](Job& j) { j.strategy.fused_kernels.experts = false; }), false);
  Job job = experts();
  job.strategy.cuda_graphs = CudaGraphs::whole;
  EXPECT_TRUE(assumed(resolve(job), "fused_kernels.experts: true (whole-step graphs without dropped tokens)"));
}

}  // namespace
}  // namespace spec
