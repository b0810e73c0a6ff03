// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/job_settings.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/config/model_writer.h"
#include "core/spec/layer_cuts.h"
#include "core/spec/recompute_modules.h"

namespace config::launch {
namespace {

class Writer {
 public:
  Writer(Settings& out, std::string section) : out_(out), section_(std::move(section)) {}
  void add(const char* key, std::string_view value) { out_.set(section_ + key, value); }
  void add(const char* key, bool value) { add(key, std::string_view(value ? "true" : "false")); }
  void add(const char* key, std::int64_t value) { add(key, std::string_view(std::to_string(value))); }
  void add(const char* key, int value) { add(key, std::int64_t{value}); }
  void add(const char* key, double value) {
    std::string text = std::to_string(value);  // fixed point: no key of a Job needs more than six digits
    text.erase(text.find_last_not_of('0') + 1);
    add(key, std::string_view(text.ends_with('.') ? text + '0' : text));
  }
  void add(const char* key, const Value& list) { out_.set(section_ + key, list); }
  template <class T>
  void add(const char* key, const std::optional<T>& value) {
    if (value) add(key, *value);
  }
  template <spec::Named E>
  void add(const char* key, E value) {
    add(key, spec::name(value));
  }
  void when(bool has_effect, const char* key, auto value) {
    if (has_effect) add(key, value);
  }

 private:
  Settings& out_;
  std::string section_;
};

/// What a model file may leave out is left out, so that equal shapes have equal settings.
void add_model(const spec::Model& model, Settings& out) {
  Settings all = flattened(model_tree(model));
  if (model.is_list()) all.set("kind", "layers");
  if (model.kv_heads == model.heads) all.erase("kv_heads");
  if (model.mla || std::int64_t{model.heads} * model.head_dim == model.hidden) all.erase("head_dim");
  if (!model.has_position_table()) all.erase("max_positions");
  if (model.norm != spec::Norm::layernorm) all.erase("norm_bias");
  if (model.moe && model.moe->first_dense == 0 && model.moe->every == 1) all.erase("ffn");
  if (model.moe && model.moe->shared_ffn == 0) {
    all.erase("moe.shared_experts");
    all.erase("moe.shared_ffn");
  } else if (model.moe) {
    all.set("moe.shared_experts", "1");  // their width together is what counts
  }
  const bool limited = model.window > 0 || model.attention_chunk > 0;
  if (model.window == 0 || model.full_every > 0) all.erase("window_every");
  if (model.attention_chunk == 0) all.erase("attention_chunk");
  if (!limited || model.full_every == 0) all.erase("full_every");
  if (!model.ropes()) all.erase("nope_every");
  if (model.indexer && !model.indexer->shares()) all.erase("indexer.first");
  if (model.mtp == 0) all.erase("mtp_pattern");
  if (model.module_copies() == model.mtp) all.erase("mtp_repeated");
  for (Setting& setting : all.all()) out.set("model." + setting.name, std::move(setting.value));
}

void add_training(const spec::Training& t, Settings& out) {
  Writer w(out, "training.");
  const bool narrow = spec::bytes_of(t.precision) < 2;
  w.add("mode", t.mode);
  w.add("sequence", t.sequence);
  w.add("global_batch", t.global_batch);
  w.add("micro_batch", t.micro_batch);
  w.add("precision", t.precision);
  w.when(t.precision == spec::Dtype::fp8, "fp8_recipe", t.fp8_recipe);
  w.when(narrow, "fp8_parameters", t.fp8_parameters);
  w.when(narrow, "wide_layers.first", t.wide_layers.first);
  w.when(narrow, "wide_layers.last", t.wide_layers.last);
  w.add("fp8_attention", t.fp8_attention);
  w.add("fp8_activation_inputs", t.fp8_activation_inputs);
  w.add("autocast", t.autocast.value_or(false));
  w.add("optimizer", t.optimizer);
  w.add("moments_dtype", t.moments());
  w.add("master_weights", t.keeps_master());
  w.add("gradient_dtype", t.gradients());
  w.add("dropout", t.dropout.value_or(0));
  w.add("indexer_loss", t.indexer_loss);
  if (!t.packing) return;
  Value lengths = list_of({});
  for (const std::int64_t length : t.packing->lengths) lengths.items.push_back(scalar(std::to_string(length)));
  w.when(!t.packing->lengths.empty(), "packing.lengths", lengths);
  w.when(t.packing->lengths.empty(), "packing.mean", t.packing->mean);
  w.when(t.packing->lengths.empty(), "packing.deviation", t.packing->deviation);
}

void add_recompute(const spec::Recompute& recompute, Writer& w) {
  w.add("recompute.kind", recompute.kind);
  w.when(recompute.layers > 0, "recompute.layers", recompute.layers);
  if (recompute.kind != spec::Recompute::Kind::selective) return;
  w.add("recompute.modules", list_of(spec::names_of(recompute.modules)));
}

void add_experts(const spec::Strategy& s, Writer& w) {
  w.add("ep", s.ep);
  w.add("etp", s.etp);
  w.add("moe_capacity_factor", s.moe_capacity_factor);
  w.when(s.moe_capacity_factor.has_value(), "moe_pad_to_capacity", s.pads_experts());
  w.add("moe_dispatcher", s.moe_dispatcher);
}

void add_kernels(const spec::Job& job, Writer& w) {
  const spec::Strategy& s = job.strategy;
  const auto kernel = s.attention_kernel.value_or(spec::AttentionKernel::unfused);
  const bool scores = writes_scores(kernel);
  w.add("attention_kernel", s.attention_kernel);
  const spec::FusedKernels& fused = s.fused_kernels;
  w.add("fused_kernels.norm", fused.norm);
  w.when(job.model.ropes(), "fused_kernels.rope", fused.rope);
  w.add("fused_kernels.activation", fused.activation);
  w.when(scores, "fused_kernels.softmax", fused.softmax);
  w.add("fused_kernels.cross_entropy", fused.cross_entropy);
  w.add("fused_kernels.grad_accumulation", fused.grad_accumulation);
  w.when(job.model.moe.has_value(), "fused_kernels.permute", fused.permute);
  w.when(job.model.moe.has_value(), "fused_kernels.experts", fused.experts);
  w.when(fused.optimizer.has_value(), "fused_kernels.optimizer", fused.optimizer);
  w.add("linear_cross_entropy", s.linear_cross_entropy);
  w.add("compile", s.compile);
  w.add("cuda_graphs", s.cuda_graphs);
}

void add_overlap(const spec::Strategy& s, bool experts, Writer& w) {
  const bool replicas = s.data() * s.cp > 1;
  w.when(replicas, "overlap.grad_reduce", s.overlap.grad_reduce);
  w.when(replicas && s.zero > 0, "overlap.param_gather", s.overlap.param_gather);
  w.when(s.pp > 1, "overlap.p2p", s.overlap.p2p);
  w.when(experts && s.ep > 1, "overlap.expert", s.overlap.expert);
  w.when(experts, "overlap.shared_expert", s.overlap.shared_expert);
  w.when(s.tp > 1, "overlap.tp", s.overlap.tp);
}

/// The list says something that leaving it out would not.
bool cuts_otherwise(const spec::Job& job) {
  spec::Strategy even = job.strategy;
  even.stage_layers.clear();
  const auto with = spec::split_layers(job.model, job.strategy), without = spec::split_layers(job.model, even);
  return !std::equal(with.begin(), with.end(), without.begin(), without.end(),
                     [](const spec::ChunkLayers& a, const spec::ChunkLayers& b) { return a.count == b.count; });
}

void add_pipeline(const spec::Job& job, Writer& w) {
  const spec::Strategy& s = job.strategy;
  w.add("pp", s.pp);
  if (s.pp == 1) return;
  w.add("schedule", s.schedule);
  w.when(s.traits().takes_vpp, "vpp", s.vpp);
  Value layers = list_of({});
  for (const int count : s.stage_layers) layers.items.push_back(scalar(std::to_string(count)));
  w.when(!s.stage_layers.empty() && cuts_otherwise(job), "stage_layers", layers);
  w.add("embedding_in_split", s.embedding_in_split);
  w.add("vocab_parallel", s.spreads_vocab() ? spec::VocabParallel::pipeline : spec::VocabParallel::tensor);
  w.when(s.spreads_vocab(), "vocab_barriers", s.vocab_barriers);
  w.add("optimizer_barrier", s.optimizer_barrier);
}

void add_sharding(const spec::Strategy& s, Writer& w) {
  w.add("zero", s.zero);
  w.when(s.zero > 0 && s.shard > 0 && s.shard != s.cp * s.data(), "shard", s.shard);
  if (s.zero == 3) {
    w.add("fsdp.unit", std::string_view(s.fsdp.unit == 0 ? "model" : std::to_string(s.fsdp.unit)));
    w.add("fsdp.prefetch", s.fsdp.prefetch);
    w.when(s.fsdp.limit_all_gathers > 0, "fsdp.limit_all_gathers", s.fsdp.limit_all_gathers);
    w.add("fsdp.reshard", s.fsdp.reshard);
    w.add("fsdp.sync_each_microbatch", s.fsdp.sync_each_microbatch);
  }
  w.add("offload.optimizer", s.offload.optimizer);
  w.add("offload.parameters", s.offload.parameters);
  w.add("offload.activations", std::string_view(s.offload.activations ? "cpu" : "none"));
}

void add_lora(const spec::Lora& lora, Writer& w) {
  std::vector<std::string> targets;
  for (const auto& [target, adapted] : spec::kLoraTargets) {
    if (lora.*adapted) targets.emplace_back(target);
  }
  w.add("lora.rank", lora.rank);
  w.add("lora.targets", list_of(targets));
  w.add("lora.base", lora.base);
  w.add("lora.dropout", lora.dropout);
}

}  // namespace

Settings job_settings(const spec::Job& job) {
  Settings out;
  const spec::Strategy& s = job.strategy;
  add_model(job.model, out);
  add_training(job.training, out);
  Writer w(out, "strategy.");
  w.add("framework", std::string_view(s.framework));
  w.add("tp", s.tp);
  w.when(s.tp > 1, "sp", s.sp);
  w.add("cp", s.cp);
  if (s.cp > 1) {
    w.add("cp_kind", s.cp_kind);
    w.add("cp_balance", s.cp_balance);
  }
  add_pipeline(job, w);
  w.add("dp", s.dp);
  add_sharding(s, w);
  if (job.model.moe) add_experts(s, w);
  add_recompute(s.recompute, w);
  add_kernels(job, w);
  add_overlap(s, job.model.moe.has_value(), w);
  w.add("rank_order", std::string_view(s.rank_order == "tp-cp-ep-dp-pp" ? "tp-cp-dp-pp" : s.rank_order));
  if (s.lora) add_lora(*s.lora, w);
  return out;
}

}  // namespace config::launch
