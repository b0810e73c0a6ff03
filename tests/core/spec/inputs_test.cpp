// SPDX-License-Identifier: Apache-2.0
#include "core/spec/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/spec/assumed_curves.h"
#include "tests/core/spec/members.h"
#include "tests/support/toy.h"

namespace {

using Names = std::vector<std::string>;

/// Everything that may be left out is there, so that every figure is met.
spec::Job full_job() {
  spec::Job job = toy::job({.tp = 2, .dp = 4});
  spec::Calibration& c = job.cluster.node.calibration;
  for (auto& curve : c.matmul) {
    curve.ceiling = 0.8;
    curve.grouped.from.source = curve.gradients.from.source = "x";
    curve.unaligned.from.source = curve.passes.from.source = curve.grouped_mm.from.source = "x";
  }
  for (auto& curve : c.attention) {
    curve.forward = curve.backward = curve.unequal_heads = curve.backward_ramp = curve.backward_low_precision = 0.5;
    curve.index = 0.5;
  }
  for (auto& curve : c.memory) curve.efficiency = 0.8;
  for (auto& curve : c.recurrence) curve.forward = curve.backward = 0.5;
  for (spec::NetworkCalibration* path : {&job.cluster.node.links, &job.cluster.fabric.calibration}) {
    for (const spec::CurveName& name : spec::kCurveNames) {
      spec::PathCurve& curve = path->*name.curve;
      curve.efficiency = curve.low_latency.efficiency = curve.ll128.efficiency = 0.5;
      curve.long_hop = base::us(1);
    }
  }
  job.cluster.node.links.experts_call = base::us(100);
  job.cluster.fabric.upper_tiers = {{.nodes = 4, .oversubscription = 2}};
  job.training.data = {.bytes_per_token = {}, .bytes_per_sample = {}, .bandwidth = base::GBps(1)};
  job.training.checkpoint = spec::Checkpoint{.bandwidth = base::GBps(1)};
  return job;
}

/// Inputs named PREFIX and one word.
std::size_t figures_under(const std::string& prefix) {
  std::size_t count = 0;
  for (const spec::Input& input : spec::inputs(full_job())) {
    count += input.name.starts_with(prefix) && input.name.find('.', prefix.size()) == std::string::npos;
  }
  return count;
}

/// The members of T are figures under `prefix`, or named here: parts with a test of their own, and what no step time
/// is made of.
template <class T>
void expect_known(const std::string& prefix, const Names& others) {
  EXPECT_EQ(testing_support::members<T>(), (prefix.empty() ? 0 : figures_under(prefix)) + others.size())
      << prefix << ": a new member wants a line in core/spec/inputs.cpp, or its name among the others here";
}

TEST(Members, AreCounted) {
  struct Three {
    int a = 1;
    std::string b;
    std::array<double, 4> c{};
  };
  EXPECT_EQ(testing_support::members<Three>(), 3u);
}

TEST(Inputs, NameEveryFigureOfTheNode) {
  // The clock is in the data sheet, and no formula reads it.
  expect_known<spec::Gpu>("gpu.", {"name", "generation", "clock", "peak", "calibration"});
  expect_known<spec::Nvlink>("nvlink.", {"domain", "via", "multicast"});
  // What a card is rated where a port slows it is told, never used.
  expect_known<spec::Nic>("nic.", {"count", "kind", "rated", "one_each"});
  expect_known<spec::Pcie>("pcie.", {"p2p"});
  expect_known<spec::Host>("host.", {});
  expect_known<spec::Nvme>("nvme.", {});
  // A node's power is money, not time.
  expect_known<spec::Node>(
      "", {"name", "gpu", "calibration", "links", "gpus", "nvlink", "nic", "pcie", "host", "nvme", "power"});
}

TEST(Inputs, NameEveryFigureOfTheFabric) {
  // A port has its effect on the card when the Job is read (plug_in); nic.bandwidth is what the two reach together.
  expect_known<spec::Fabric>("fabric.", {"name", "kind", "leaf_nodes", "upper_tiers", "routing", "nodes", "groups",
                                         "shape", "nic_kind", "port", "in_switch_reduction", "calibration"});
  expect_known<spec::Tier>("fabric.upper_tiers.", {"nodes"});
}

TEST(Inputs, NameEveryConstantOfTheKernelCurves) {
  // grouped_mm and unaligned_on_cuda_cores are choices between two kernels, not figures; the rest are texts.
  const Names parts{"name",
                    "matmul",
                    "attention",
                    "memory",
                    "recurrence",
                    "power",
                    "gpu",
                    "measured_as",
                    "grouped_mm",
                    "unaligned_on_cuda_cores",
                    "accumulation_source",
                    "unaligned_source",
                    "interference_source",
                    "sources"};
  EXPECT_EQ(testing_support::members<spec::Calibration>(), parts.size() + 4);
  for (const char* own : {"accumulation", "compute_slowdown", "comm_slowdown"}) EXPECT_EQ(figures_under(own), 1u);
  expect_known<spec::MatmulCurve>("matmul.bf16.",
                                  {"from", "grouped", "grouped_mm", "unaligned", "passes", "gradients"});
  // A part's first member is its base, which holds the source.
  expect_known<spec::GroupedPace>("matmul.bf16.grouped.", {"from"});
  expect_known<spec::GroupedPace>("matmul.bf16.grouped_mm.", {"from"});
  expect_known<spec::UnalignedPace>("matmul.bf16.unaligned.", {"from"});
  expect_known<spec::PassPaces>("matmul.bf16.passes.", {"from"});
  expect_known<spec::PromotedPace>("matmul.bf16.gradients.", {"from"});
  expect_known<spec::AttentionCurve>("attention.flash3.", {"backward_measured", "low_precision_measured", "from"});
  expect_known<spec::MemoryCurve>("memory.norm.", {"from"});
  expect_known<spec::RecurrenceCurve>("recurrence.mamba2.", {"from"});
  expect_known<spec::PowerState>("power.", {"residual", "source"});
}

TEST(Inputs, NameTheCurvesThatAreAssumedOfACard) {
  // No calibration of a card without scans of its own has them, and the model's kind alone is used.
  spec::Job job;
  job.model.recurrent.emplace().kind = spec::Recurrent::Kind::gated_delta;
  spec::assume_curves(job);
  std::vector<std::string> scans;
  for (const spec::Input& input : spec::inputs(job)) {
    if (input.name.starts_with("recurrence.")) scans.push_back(input.name);
  }
  EXPECT_EQ(scans, (std::vector<std::string>{"recurrence.gated_delta.forward", "recurrence.gated_delta.backward",
                                             "recurrence.gated_delta.chunk", "recurrence.gated_delta.backward_chunk",
                                             "recurrence.gated_delta.overhead"}));
}

TEST(Inputs, NameEveryConstantOfTheNetworkCurves) {
  EXPECT_EQ(testing_support::members<spec::NetworkCalibration>(),
            std::size(spec::kCurveNames) + 4);  // name, sources, a call and its source
  EXPECT_EQ(figures_under("links.experts_call"), 1u);
  for (const std::string path : {"links.", "fabric."}) {
    for (const spec::CurveName& name : spec::kCurveNames) {
      const std::string curve = path + name.key + '.';
      expect_known<spec::PathCurve>(curve, {"low_latency", "ll128", "covered", "residual", "measured", "source"});
      expect_known<spec::LowLatency>(curve + "low_latency.", {});
      expect_known<spec::LowLatency>(curve + "ll128.", {});
    }
  }
}

TEST(Inputs, NameEveryRateOfTheFramework) {
  // The others choose what is run, or fill memory.
  expect_known<spec::Framework>("framework.", {"name",
                                               "gradient_bucket",
                                               "parameter_bucket",
                                               "bucket_ranks",
                                               "whole_later_chunks",
                                               "synchronizes_each_reduce",
                                               "reads_each_loss",
                                               "awaits_units",
                                               "bucket_passes",
                                               "fp64_norm",
                                               "moves_logits",
                                               "scatter_gather_pipeline",
                                               "fp16_gradients",
                                               "hopper_attention",
                                               "tuned_norms",
                                               "general_norm_sums_of_amd",
                                               "recomputes_by_operators",
                                               "recomputes_by_modules",
                                               "offloads_parameters",
                                               "offloads_to_drives",
                                               "updates_where_kept",
                                               "launcher",
                                               "dropout",
                                               "sharded_gradients_in_16_bits",
                                               "own_models",
                                               "autocasts",
                                               "wide_adapters",
                                               "fresh_gradients",
                                               "holds_frozen_inputs",
                                               "compiles_loss_of_2025",
                                               "placeholders_of_fp8_gpus",
                                               "keeps_logits",
                                               "adds_embedding_rows",
                                               "graphs_on_slow_hosts",
                                               "gathers_beside_reductions",
                                               "compiles_unsharded_loss",
                                               "each_optimizer_gathers",
                                               "multiplies_rows",
                                               "drops_without_padding",
                                               "recipes_of_fp8_gpus",
                                               "grouped_mm",
                                               "synchronizes_p2p",
                                               "balances_stages",
                                               "spreads_stages",
                                               "pipeline_zero",
                                               "fp32_shards",
                                               "all_reduces_shards",
                                               "gathers_qkv",
                                               "moments_as_weights",
                                               "unit_copies",
                                               "bucket_copies",
                                               "bucketed_units",
                                               "zero3_overlaps",
                                               "fused_optimizer",
                                               "context",
                                               "communicator",
                                               "fragmentation",
                                               "keeps_casts",
                                               "fp8_parameters",
                                               "experts_follow_tp",
                                               "router_kernels",
                                               "router_gradient_kernels",
                                               "router_launches",
                                               "scales_scores",
                                               "router_gradient_launches",
                                               "pads_experts",
                                               "rows_by_index",
                                               "weighs_in_fp32",
                                               "rescales_rows",
                                               "exchange_launches",
                                               "expert_biases",
                                               "vocab_multiple",
                                               "optimizer_passes",
                                               "accumulates_whole",
                                               "compiles",
                                               "compiles_head",
                                               "pads_latent_values",
                                               "written_gelu",
                                               "module_launch_of_fp8_gpus",
                                               "dispatcher_across_nodes",
                                               "compiles_loss",
                                               "compiles_experts",
                                               "separate_loss",
                                               "keeps_gathered",
                                               "keeps_blocking_gathers",
                                               "copies_sequence",
                                               "sequence_parallel",
                                               "sums_replicas_last",
                                               "scales_gradients",
                                               "frees_sharded_gradients",
                                               "stops_recompute",
                                               "shards_by_dtensor",
                                               "expands_kv",
                                               "complex_rope",
                                               "scales_fused_rope",
                                               "frees_added_gradients",
                                               "ring_gathers",
                                               "separate_linears",
                                               "separate_experts",
                                               "counts_behind_rows",
                                               "turned_heads",
                                               "strided_eager",
                                               "attention_copies",
                                               "optimizer_workspace",
                                               "keeps_stage_outputs",
                                               "keeps_pipeline_units",
                                               "stream_pools",
                                               "records_streams",
                                               "flat_workspace",
                                               "shifted_logits",
                                               "channels_first_tf32",
                                               "ulysses_heads",
                                               "optimizer_tile",
                                               "fused",
                                               "overlap",
                                               "tp_of_fp8_gpus",
                                               "source"});
}

TEST(Inputs, NameEveryRateOfTheFiles) {
  expect_known<spec::InputData>("data.", {"bytes_per_token", "bytes_per_sample", "prefetch"});
  expect_known<spec::Checkpoint>("checkpoint.", {"every", "shared", "async"});
}

TEST(Inputs, AreWhatTheyWereSetTo) {
  spec::Job job = full_job();
  double value = 1000;
  for (const spec::Input& input : spec::inputs(job)) spec::set_input(job, input.name, ++value);
  value = 1000;
  std::set<std::string> names;
  for (const spec::Input& input : spec::inputs(job)) {
    EXPECT_EQ(input.value, ++value) << input.name;
    EXPECT_TRUE(names.insert(input.name).second) << input.name << " stands twice";
  }
  spec::set_input(job, "gpu.hbm", 5);
  EXPECT_EQ(job.cluster.node.gpu.hbm.si(), 5);
}

TEST(Inputs, OfAMixedClusterNameTheirNode) {
  spec::Job job = toy::job({.dp = 16});
  spec::Node other = job.cluster.node;
  other.name = "slow";
  other.gpu.peak[static_cast<int>(spec::Dtype::bf16)] = base::TFLOPps(500);
  job.cluster.groups = {{job.cluster.node, 1}, {other, 1}};
  job.cluster.node = other;  // the least able stands for the cluster

  spec::set_input(job, "gpu.hbm@slow", 5e11);
  EXPECT_EQ(job.cluster.groups[0].node.gpu.hbm.si(), 1e12);
  EXPECT_EQ(job.cluster.groups[1].node.gpu.hbm.si(), 5e11);
  EXPECT_EQ(job.cluster.node.gpu.hbm.si(), 5e11);
}

TEST(Inputs, KnowTheTimeInTheirUnits) {
  EXPECT_EQ(spec::power_of_time(spec::InputUnit::seconds), 1);
  EXPECT_EQ(spec::power_of_time(spec::InputUnit::flop_rate), -1);
  EXPECT_EQ(spec::power_of_time(spec::InputUnit::watts), -1);
  EXPECT_EQ(spec::power_of_time(spec::InputUnit::bytes), 0);
}

}  // namespace
