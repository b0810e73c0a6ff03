// SPDX-License-Identifier: Apache-2.0
#include "core/config/job_reader.h"

#include <gtest/gtest.h>

#include "core/spec/layer_cuts.h"
#include "tests/core/config/small_catalogue.h"

namespace config::testing {
namespace {

class JobReader : public ::testing::Test {
 protected:
  SmallCatalogue small_;
};

TEST_F(JobReader, ReadsEverySection) {
  const spec::Job job = small_.read(R"(
model: small
cluster: {node: box-8, nodes: 4, fabric: slow}
training: {mode: train, sequence: 2048, global_batch: 64, micro_batch: 2, precision: fp16, optimizer: sgd,
           master_weights: false, gradient_dtype: bf16, dropout: 0.1}
strategy: {tp: 4, sp: true, pp: 4, schedule: interleaved, vpp: 3, dp: 2, zero: 1, recompute: {kind: full, layers: 2},
           attention_kernel: flash2, fused_kernels: {norm: false}, overlap: {grad_reduce: false, tp: chunked}, framework: bare}
network: {fidelity: closed_form, algorithm: ring}
simulation: {unfold: true, jitter: 0.02, seed: 7, slow_ranks: [{rank: 3, factor: 1.2}], slow_links: [{node: 1, factor: 2}]}
)");
  EXPECT_EQ(job.model.name, "small");
  EXPECT_EQ(job.cluster.gpus(), 32);
  EXPECT_EQ(job.cluster.fabric.name, "slow");
  EXPECT_EQ(job.training.precision, spec::Dtype::fp16);
  EXPECT_EQ(job.training.optimizer, spec::Optimizer::sgd);
  EXPECT_FALSE(job.training.keeps_master());
  EXPECT_EQ(job.training.gradients(), spec::Dtype::bf16);
  EXPECT_EQ(job.strategy.recompute.kind, spec::Recompute::Kind::full);
  EXPECT_EQ(job.strategy.recompute.layers, 2);
  EXPECT_EQ(job.strategy.fused_kernels.norm, false);
  EXPECT_EQ(job.strategy.overlap.grad_reduce, false);
  EXPECT_EQ(job.strategy.overlap.tp, spec::TpOverlap::chunked);
  EXPECT_EQ(job.framework.name, "bare");
  EXPECT_EQ(job.strategy.framework, "bare");
  EXPECT_EQ(job.network.algorithm, spec::Algorithm::ring);
  EXPECT_TRUE(job.simulation.unfold);
  EXPECT_EQ(job.simulation.seed, 7u);
  ASSERT_EQ(job.simulation.slow_ranks.size(), 1u);
  EXPECT_EQ(job.simulation.slow_ranks[0].rank, 3);
  EXPECT_EQ(job.simulation.slow_links[0].factor, 2);
  EXPECT_EQ(spec::microbatches(job), 16);  // 64 / (2 x 2)
}

TEST_F(JobReader, GroupsOfTheSameNodeAreOneKind) {
  const auto read = [&](const std::string& second) {
    return small_
        .read("{model: small, cluster: {fabric: flat, node: [{node: box-8, nodes: 2}, {node: " + second +
              ", nodes: 1}]}, training: {sequence: 8, global_batch: 24}}")
        .cluster;
  };
  EXPECT_EQ(read("box-8").kinds(), 1);
  EXPECT_EQ(read("box-8").nodes, 3);
  EXPECT_EQ(read("{base: box-8, nic: {bandwidth: 10GB/s}}").kinds(), 2);
}

TEST_F(JobReader, ReadsAdaptersAndNumbersBelow16Bits) {
  const spec::Job job = small_.read(R"({model: small, cluster: {node: box-8},
training: {sequence: 8, global_batch: 16, optimizer: adamw8bit, wide_layers: {first: 1}},
strategy: {lora: {rank: 4, targets: [proj, ffn], base: nf4}}})");
  EXPECT_EQ(job.training.optimizer, spec::Optimizer::adamw8bit);
  EXPECT_EQ(job.training.wide_layers.first, 1);
  EXPECT_EQ(job.training.wide_layers.last, 0);
  ASSERT_TRUE(job.strategy.lora);
  EXPECT_EQ(job.strategy.lora->rank, 4);
  EXPECT_FALSE(job.strategy.lora->qkv);
  EXPECT_TRUE(job.strategy.lora->proj);
  EXPECT_TRUE(job.strategy.lora->ffn);
  EXPECT_EQ(job.strategy.lora->base, spec::LoraBase::nf4);
}

TEST_F(JobReader, AnAdapterNeedsARankAndKnownTargets) {
  const auto told = [&](const std::string& lora) {
    try {
      small_.read(
          "{model: small, cluster: {node: box-8}, training: {sequence: 8, global_batch: 16}, strategy: {lora: " + lora +
          "}}");
    } catch (const base::InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(told("{targets: [qkv]}").find("strategy.lora.rank: is missing"), std::string::npos);
  EXPECT_NE(told("{rank: 4}").find("strategy.lora.targets: is missing"), std::string::npos);
  EXPECT_NE(told("{rank: 4, targets: [head]}").find("'head' is no layer with adapters"), std::string::npos);
}

TEST_F(JobReader, ANodesOwnFabricIsTheDefault) {
  EXPECT_EQ(small_.read("{model: small, cluster: {node: box-8, nodes: 2}, training: {sequence: 8, global_batch: 16}}")
                .cluster.fabric.name,
            "flat");
}

TEST_F(JobReader, AFabricOfNeitherKindNorBaseIsLaidOverTheNodesOwn) {
  const auto fabric = [&](const std::string& text) {
    return small_
        .read("{model: small, cluster: {node: box-8, nodes: 2, fabric: " + text +
              "}, training: {sequence: 8, global_batch: 16}}")
        .cluster.fabric;
  };
  const spec::Fabric own = fabric("flat"), changed = fabric("{hop_latency: 7us}");
  EXPECT_EQ(changed.name, "flat (changed)");
  EXPECT_EQ(changed.kind, own.kind);
  EXPECT_NE(changed.hop_latency.si(), own.hop_latency.si());
}

TEST_F(JobReader, OneSwitchSetsAllFusedKernels) {
  for (const bool on : {true, false}) {
    const spec::FusedKernels fused =
        small_
            .read(std::string(
                      "{model: small, cluster: {node: box-8}, training: {sequence: 8, global_batch: 8}, strategy: ") +
                  "{fused_kernels: " + (on ? "true" : "false") + ", framework: " + (on ? "bare" : "megatron") + "}}")
            .strategy.fused_kernels;
    for (const auto& kernel : {fused.norm, fused.rope, fused.activation, fused.softmax, fused.cross_entropy,
                               fused.grad_accumulation, fused.permute}) {
      EXPECT_EQ(kernel, on);
    }
  }
}

// Shapes and splits of published steps, one of each kind. The hardware is the small catalogue's.
class Published : public JobReader, public ::testing::WithParamInterface<const char*> {};

TEST_P(Published, IsReadAndResolved) {
  const spec::Job job = small_.read(GetParam());
  const spec::Strategy& s = job.strategy;
  EXPECT_EQ(s.tp * s.pp * s.data(), job.cluster.gpus());
  EXPECT_TRUE(s.attention_kernel && s.overlap.tp && s.overlap.grad_reduce && s.fused_kernels.norm);
  EXPECT_GE(spec::microbatches(job), 1);
  int layers = 0;
  for (const spec::ChunkLayers& chunk : spec::split_layers(job.model, s)) layers += chunk.count;
  EXPECT_EQ(layers, job.model.layers);
  EXPECT_TRUE(spec::check(job).empty());
}

INSTANTIATE_TEST_SUITE_P(
    Steps, Published,
    ::testing::Values(
        // Korthikanti et al., arXiv 2205.05198, table 5: 530B, three chunks a stage.
        R"({model: {layers: 105, hidden: 20480, heads: 128, kv_heads: 128, head_dim: 160, ffn: 81920, gated_mlp: false, vocab: 51200,
            tied_embeddings: true, position: learned, bias: true}, cluster: {node: box-8, nodes: 35},
            training: {sequence: 2048, global_batch: 280, precision: fp16, dropout: 0.1}, strategy: {dp: 1, tp: 8, sp: true, pp: 35,
            schedule: interleaved, vpp: 3, recompute: selective, attention_kernel: fused_softmax, overlap: {tp: wgrad}}})",
        // Zero Bubble, arXiv 2401.10241, table 4: 30 layers + embedding + head over 8 x 4 chunks of one.
        R"({model: {layers: 30, hidden: 4096, heads: 32, kv_heads: 32, head_dim: 128, ffn: 16384, vocab: 51200}, cluster: {node: box-8},
            training: {sequence: 1024, global_batch: 192, micro_batch: 3}, strategy: {dp: 1, pp: 8, schedule: interleaved, vpp: 4,
            embedding_in_split: true}})",
        // BLOOM's predecessors: 70 layers, the end stages one fewer.
        R"({model: {layers: 70, hidden: 14336, heads: 64, kv_heads: 64, head_dim: 224, ffn: 57344, vocab: 51200}, cluster: {node: box-8,
            nodes: 48}, training: {sequence: 2048, global_batch: 2048, micro_batch: 2}, strategy: {dp: 8, tp: 4, pp: 12,
            stage_layers: [5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5], zero: 1, recompute: full}})",
        // Ultra-Scale Playbook: fewer microbatches than stages, tensor parallelism across nodes, grouped-query
        // attention.
        R"({model: {layers: 16, hidden: 2048, heads: 32, kv_heads: 8, head_dim: 64, ffn: 8192, gated_mlp: true, vocab: 131072,
            tied_embeddings: true}, cluster: {node: box-8, nodes: 8, fabric: slow}, training: {sequence: 4096, global_batch: 2},
            strategy: {dp: 1, tp: 16, sp: true, pp: 4, framework: bare, fused_kernels: {norm: true}, attention_kernel: flash2}})",
        // Half a node, cards of 100 Gb/s.
        R"({model: small, cluster: {node: {base: box-8, gpus: 4, nic: {bandwidth: 100Gb/s, count: 4}}, nodes: 2},
            training: {sequence: 2048, global_batch: 32, micro_batch: 4}, strategy: {dp: 2, tp: 2, pp: 2, zero: 1, recompute: full}})",
        // kv heads replicated over more tensor-parallel ranks than there are.
        R"({model: small, cluster: {node: box-8}, training: {sequence: 4096, global_batch: 8}, strategy: {tp: 8, schedule: gpipe}})"));

}  // namespace
}  // namespace config::testing
