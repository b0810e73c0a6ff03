// SPDX-License-Identifier: Apache-2.0
#include "core/config/framework_reader.h"

namespace config {
namespace {

/// What the host takes for each operator, and for a step.
void read_host(MapReader& map, spec::Framework& framework) {
  map.require("launch", framework.launch);
  map.require("backward_launch", framework.backward_launch);
  map.require("collective_launch", framework.collective_launch);
  map.read("pipelined_tp_launch", framework.pipelined_tp_launch);
  map.require("step", framework.step);
  map.read("host_slowdown", framework.host_slowdown, 1.0, 100.0);
  map.require("compiled_launch", framework.compiled_launch);
  map.read("plain_launch", framework.plain_launch);
  map.read("module_launch", framework.module_launch);
  map.read("module_fetch", framework.module_fetch);
  map.read("expert_launch", framework.expert_launch);
}

/// How gradients and parameters travel, and in which formats.
void read_reductions(MapReader& map, spec::Framework& framework) {
  map.require("gradient_bucket", framework.gradient_bucket);
  map.require("parameter_bucket", framework.parameter_bucket);
  map.read("bucket_ranks", framework.bucket_ranks, 0, 1'000'000);
  map.read("whole_later_chunks", framework.whole_later_chunks);
  map.read("synchronizes_each_reduce", framework.synchronizes_each_reduce);
  map.read("reads_each_loss", framework.reads_each_loss);
  map.read("awaits_units", framework.awaits_units);
  map.read("scatter_gather_pipeline", framework.scatter_gather_pipeline);
  map.read("fp16_gradients", framework.fp16_gradients);
  map.read("sharded_gradients_in_16_bits", framework.sharded_gradients_in_16_bits);
  map.read("synchronizes_p2p", framework.synchronizes_p2p);
  map.read("fp32_shards", framework.fp32_shards);
  map.read("all_reduces_shards", framework.all_reduces_shards);
  map.read("gathers_qkv", framework.gathers_qkv);
  map.read("moments_as_weights", framework.moments_as_weights);
  map.read("unit_copies", framework.unit_copies);
  map.read("bucket_copies", framework.bucket_copies);
  map.read("scales_gradients", framework.scales_gradients);
  map.read("bucket_passes", framework.bucket_passes, 0, 100);
  map.read("bucketed_units", framework.bucketed_units);
  map.read("zero3_overlaps", framework.zero3_overlaps);
  map.read("accumulates_whole", framework.accumulates_whole);
  map.read("sums_replicas_last", framework.sums_replicas_last);
  map.read("keeps_pipeline_units", framework.keeps_pipeline_units);
  map.read("ulysses_heads", framework.ulysses_heads);
  map.read("ring_gathers", framework.ring_gathers);
}

/// What lies on a GPU beside what a step needs.
void read_memory(MapReader& map, spec::Framework& framework) {
  map.require("context", framework.context);
  map.require("communicator", framework.communicator);
  map.require("fragmentation", framework.fragmentation, 0.0, 1.0);
  map.read("keeps_casts", framework.keeps_casts);
  map.read("autocasts", framework.autocasts);
  map.read("wide_adapters", framework.wide_adapters);
  map.read("holds_frozen_inputs", framework.holds_frozen_inputs);
  map.read("fresh_gradients", framework.fresh_gradients);
  map.read("frees_sharded_gradients", framework.frees_sharded_gradients);
  map.read("fp8_parameters", framework.fp8_parameters);
  map.read("keeps_gathered", framework.keeps_gathered);
  map.read("keeps_blocking_gathers", framework.keeps_blocking_gathers);
  map.read("copies_sequence", framework.copies_sequence);
  map.read("stops_recompute", framework.stops_recompute);
  map.read("keeps_stage_outputs", framework.keeps_stage_outputs);
  map.read("stream_pools", framework.stream_pools);
  map.read("records_streams", framework.records_streams);
}

void read_optimizer(MapReader& map, spec::Framework& framework) {
  map.read("fused_optimizer", framework.fused_optimizer);
  map.read("optimizer_passes", framework.optimizer_passes, 1.0, 100.0);
  map.read("optimizer_workspace", framework.optimizer_workspace, 0, 64);
  map.read("flat_workspace", framework.flat_workspace);
  map.read("fp64_norm", framework.fp64_norm);
  map.read("cpu_optimizer", framework.cpu_optimizer, 0.001, 1.0);
  map.read("optimizer_tile", framework.optimizer_tile);
}

/// What the code of its models and of their loss is like.
void read_model_code(MapReader& map, spec::Framework& framework) {
  map.read("dropout", framework.dropout, 0.0, 0.99);
  map.read("balances_stages", framework.balances_stages);
  map.read("spreads_stages", framework.spreads_stages);
  map.read("pipeline_zero", framework.pipeline_zero, 0, 3);
  map.read("sequence_parallel", framework.sequence_parallel);
  map.read("experts_follow_tp", framework.experts_follow_tp);
  map.read("router_kernels", framework.router_kernels, 1, 1000);
  map.read("router_gradient_kernels", framework.router_gradient_kernels, 1, 1000);
  map.read("router_launches", framework.router_launches, 0, 1000);
  map.read("router_gradient_launches", framework.router_gradient_launches, 0, 1000);
  map.read("pads_experts", framework.pads_experts);
  map.read("rescales_rows", framework.rescales_rows);
  map.read("rows_by_index", framework.rows_by_index);
  map.read("weighs_in_fp32", framework.weighs_in_fp32);
  map.read("counts_behind_rows", framework.counts_behind_rows);
  map.read("exchange_launches", framework.exchange_launches, 0, 1000);
  map.read("grouped_mm", framework.grouped_mm);
  map.read("scales_scores", framework.scales_scores);
  map.read("expert_biases", framework.expert_biases);
  map.read("written_gelu", framework.written_gelu);
  map.read("vocab_multiple", framework.vocab_multiple, 1, 100'000);
  map.read("compiles", framework.compiles);
  map.read("compiles_head", framework.compiles_head);
  map.read("compiles_loss", framework.compiles_loss);
  map.read("compiles_experts", framework.compiles_experts);
  map.read("compiles_unsharded_loss", framework.compiles_unsharded_loss);
  map.read("scales_fused_rope", framework.scales_fused_rope);
  map.read("moves_logits", framework.moves_logits);
  map.read("separate_loss", framework.separate_loss);
  map.read("expands_kv", framework.expands_kv);
  map.read("complex_rope", framework.complex_rope);
  map.read("frees_added_gradients", framework.frees_added_gradients);
  map.read("own_models", framework.own_models);
  map.read("shards_by_dtensor", framework.shards_by_dtensor);
  map.read("compiles_loss_of_2025", framework.compiles_loss_of_2025);
  map.read("separate_linears", framework.separate_linears);
  map.read("separate_experts", framework.separate_experts);
  map.read("turned_heads", framework.turned_heads);
  map.read("strided_eager", framework.strided_eager);
  map.read("attention_copies", framework.attention_copies);
  map.read("norm_backward", framework.norm_backward, 1.0, 10.0);
  map.read("tuned_norms", framework.tuned_norms, 1, 1'000'000);
  map.read("general_norm", framework.general_norm, 1.0, 10.0);
  map.read("general_norm_backward", framework.general_norm_backward, 1.0, 10.0);
  map.read("general_norm_sums", framework.general_norm_sums);
  map.read("general_norm_sums_of_amd", framework.general_norm_sums_of_amd);
  map.read("keeps_logits", framework.keeps_logits);
  map.read("adds_embedding_rows", framework.adds_embedding_rows);
  map.read("shifted_logits", framework.shifted_logits);
  map.read("channels_first_tf32", framework.channels_first_tf32);
}

/// What a Job may ask of it, and what it takes where the Job is silent.
void read_abilities(MapReader& map, spec::Framework& framework) {
  map.read("launcher", framework.launcher);
  map.read("pads_latent_values", framework.pads_latent_values);
  map.read("hopper_attention", framework.hopper_attention);
  map.read("recomputes_by_operators", framework.recomputes_by_operators);
  map.read("recomputes_by_modules", framework.recomputes_by_modules);
  map.read("offloads_parameters", framework.offloads_parameters);
  map.read("offloads_to_drives", framework.offloads_to_drives);
  map.read("updates_where_kept", framework.updates_where_kept);
}

/// What is otherwise on GPUs with fp8, on slow hosts, and between nodes of them.
void read_newer_machines(MapReader& map, spec::Framework& framework) {
  map.read("placeholders_of_fp8_gpus", framework.placeholders_of_fp8_gpus);
  map.read("recipes_of_fp8_gpus", framework.recipes_of_fp8_gpus);
  map.read("tp_of_fp8_gpus", framework.tp_of_fp8_gpus);
  map.read("gathers_beside_reductions", framework.gathers_beside_reductions);
  map.read("each_optimizer_gathers", framework.each_optimizer_gathers);
  map.read("multiplies_rows", framework.multiplies_rows);
  map.read("drops_without_padding", framework.drops_without_padding);
  map.read("graphs_on_slow_hosts", framework.graphs_on_slow_hosts);
  map.read("module_launch_of_fp8_gpus", framework.module_launch_of_fp8_gpus);
  map.read("dispatcher_across_nodes", framework.dispatcher_across_nodes);
}

}  // namespace

spec::FusedKernels read_fused_kernels(const Value& value, const std::string& path, Faults& faults) {
  spec::FusedKernels fused;
  const bool all = value.kind == Value::Kind::scalar && (value.text == "true" || value.text == "false");
  if (all && !value.quoted) {
    for (const auto& [name, kernel] : spec::kFusedKernels) {
      if (!spec::is_named_alone(kernel, value.text == "true")) fused.*kernel = value.text == "true";
    }
    return fused;
  }
  if (value.kind != Value::Kind::map) {
    faults.push_back({path, "neither true, false nor a map",
                      "write true, false or a map such as {norm: true, rope: false}", value.where});
    return fused;
  }
  MapReader map(value, path, faults);
  for (const auto& [name, kernel] : spec::kFusedKernels) map.read(name, fused.*kernel);
  map.finish();
  return fused;
}

spec::Overlap read_overlap(const Value& value, const std::string& path, Faults& faults) {
  spec::Overlap overlap;
  const std::string flag = value.text == "false" ? "false" : "true";
  MapReader map(value, path, faults,
                "overlap: {grad_reduce: " + flag + ", param_gather: " + flag + ", p2p: " + flag + "}, or some of them");
  map.read("grad_reduce", overlap.grad_reduce);
  map.read("param_gather", overlap.param_gather);
  map.read("p2p", overlap.p2p);
  map.read("expert", overlap.expert);
  map.read("shared_expert", overlap.shared_expert);
  map.read("tp", overlap.tp);
  map.finish();
  return overlap;
}

spec::Framework read_framework(const Value& value, const std::string& path, Faults& faults) {
  spec::Framework framework;
  MapReader map(value, path, faults);
  map.read("name", framework.name);
  read_host(map, framework);
  read_reductions(map, framework);
  read_memory(map, framework);
  read_optimizer(map, framework);
  read_model_code(map, framework);
  read_abilities(map, framework);
  read_newer_machines(map, framework);
  map.part("fused_kernels", framework.fused, read_fused_kernels);
  map.part("overlap", framework.overlap, read_overlap);
  framework.source = value.where.file;
  map.finish();
  return framework;
}

}  // namespace config
