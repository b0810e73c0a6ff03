// core/config/launch/maxtext.cpp -- MaxText's YAML: models, batches and the mesh, out; the way in is
// maxtext_import.cpp, the rest workloads/launch/maxtext.yaml. SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/maxtext.h"

#include <array>
#include <charconv>
#include <numeric>
#include <string_view>

#include "core/base/text.h"
#include "core/config/launch/framework.h"
#include "core/config/launch/same_shape.h"

namespace config::launch {
namespace {

/// What decoder_block llama2 and mixtral are made of, of this size.
spec::Model plain_decoder(const spec::Model& like) {
  spec::Model out;
  out.layers = like.layers, out.hidden = like.hidden, out.heads = like.heads, out.kv_heads = like.kv_heads;
  out.head_dim = like.head_dim, out.ffn = like.ffn, out.vocab = like.vocab, out.tied_embeddings = like.tied_embeddings;
  out.gated_mlp = true, out.activation = spec::Activation::swiglu;
  out.norm = spec::Norm::rmsnorm, out.position = spec::Position::rope;
  out.norm_bias = like.norm_bias;  // of no effect on an rmsnorm
  if (!like.moe) return out;
  out.moe.emplace();
  out.moe->experts = like.moe->experts, out.moe->top_k = like.moe->top_k, out.moe->ffn = like.moe->ffn;
  return out;
}

void write_sizes(Export& e) {
  const spec::Model& m = e.job.model;
  const auto set = [&](const char* option, std::int64_t value) { e.options.set(option, std::to_string(value)); };
  e.options.set("decoder_block", m.moe ? "mixtral" : "llama2");
  set("base_emb_dim", m.hidden);
  set("base_num_query_heads", m.heads);
  set("base_num_kv_heads", m.kv_heads);
  set("head_dim", m.head_dim);
  set("base_mlp_dim", m.moe ? m.moe->ffn : m.ffn);
  set("base_num_decoder_layers", m.layers);
  set("vocab_size", m.vocab);
  e.options.set("logits_via_embedding", m.tied_embeddings ? "true" : "false");
  if (!m.moe) return;
  set("base_moe_mlp_dim", m.moe->ffn);
  set("num_experts", m.moe->experts);
  set("num_experts_per_tok", m.moe->top_k);
}

void write_model(Export& e) {
  Faults faults;
  for (const MaxtextModel& one : kMaxtextModels) {
    const spec::Model model = e.catalogue.model(scalar(one.ours), "model", faults);
    if (faults.empty() && same_shape(model, e.job.model)) return e.options.set("model_name", one.theirs);
  }
  if (same_shape(plain_decoder(e.job.model), e.job.model)) return write_sizes(e);
  e.refuse("model",
           base::quoted(e.job.model.name) + ": neither one of its models nor made as its llama2 or mixtral blocks are",
           "write a model of RMSNorm, rotary embedding and SwiGLU without biases");
}

struct Axis {
  std::string_view name;
  int size;
};

/// Axes fill a node in the order of ranks, tensor parallel first; what is left goes over nodes.
void place(Export& e, const std::array<Axis, 5>& axes) {
  int room = e.job.cluster.node.gpus;
  for (const Axis& axis : axes) {
    const int inside = std::gcd(axis.size, room);
    room /= inside;
    if (axis.size == 1) continue;
    e.options.set(mesh_axis("ici", axis.name), std::to_string(inside));
    e.options.set(mesh_axis("dcn", axis.name), std::to_string(axis.size / inside));
    if (axis.name == "expert" && inside > 1 && axis.size > inside)
      e.notes.emplace_back("before 2026 MaxText has experts inside of nodes or over them, not both");
  }
  // Left out, they take what is left.
  for (const char* whole : {"ici_fsdp_parallelism", "dcn_data_parallelism"}) {
    if (!e.options.has(whole)) e.options.set(whole, "1");
  }
  if (room != 1) {
    e.refuse("strategy.tp",
             "degrees that do not fill the " + std::to_string(e.job.cluster.node.gpus) +
                 " GPUs of a node, which one part of its mesh is",
             "choose degrees whose product is a multiple of them");
  }
}

/// Weights that are not cut by tensor parallel ranks are sharded over fsdp, context and expert ranks alike. Beside a
/// refused pp there is no mesh to tell.
void write_mesh(Export& e) {
  const spec::Strategy& s = e.job.strategy;
  for (const char* key :
       {"strategy.tp", "strategy.cp", "strategy.ep", "strategy.dp", "strategy.zero", "strategy.shard"})
    e.keys.take(key);
  if (s.pp > 1) return;
  const int ranks = s.data() * s.cp, others = s.cp * s.ep;
  if (s.zero == 2)
    return e.refuse("strategy.zero", "'2': it shards optimizer states alone (zero 1) or all of the state (zero 3)",
                    "write strategy.zero: 3 or 1");
  if (s.zero < 3 && others > 1)
    return e.refuse(
        "strategy.zero",
        base::quoted(std::to_string(s.zero)) + " beside cp and ep, over whose ranks it shards weights as well",
        "write strategy.zero: 3");
  if (s.zero == 1 && s.shard > 0)
    return e.refuse("strategy.shard", base::quoted(std::to_string(s.shard)) + " below zero 3",
                    "write strategy.zero: 3, or leave shard out");
  const int shard = s.zero < 3 ? 1 : s.shard > 0 ? s.shard : ranks;
  if (s.zero == 3 && shard % others != 0)
    return e.refuse("strategy.shard",
                    base::quoted(std::to_string(shard)) + ": shards are over whole groups of cp and ep",
                    "write a multiple of " + std::to_string(others));
  if (s.zero == 1) e.options.set("shard_optimizer_over_data", "true");
  place(e,
        {{{"tensor", s.tp}, {"context", s.cp}, {"expert", s.ep}, {"fsdp", shard / others}, {"data", ranks / shard}}});
}

/// Sequences a GPU, which tensor and context parallel ranks share: to the last digit, for MaxText rounds the batch
/// down.
void write_batch(Export& e) {
  const spec::Strategy& s = e.job.strategy;
  for (const char* key : {"training.micro_batch", "training.global_batch"}) e.keys.take(key);
  const std::int64_t sharing = std::int64_t{s.tp} * s.cp * s.pp, steps = spec::microbatches(e.job);
  std::array<char, 32> digits{};
  const double batch = static_cast<double>(e.job.training.micro_batch) / static_cast<double>(sharing);
  const std::string each(digits.data(), std::to_chars(digits.begin(), digits.end(), batch).ptr);
  e.options.set("per_device_batch_size", each.find('.') == each.npos ? each + ".0" : each);
  e.options.set("gradient_accumulation_steps", std::to_string(steps));
  if (steps > 1 && e.job.training.fp8_recipe == spec::Fp8Recipe::delayed)
    e.refuse("training.fp8_recipe", "'delayed' beside accumulated gradients, which it refuses to train",
             "write training.fp8_recipe: tensorwise");
}

/// Left out, it selects a kernel that is not the one that is predicted. Transformer Engine's wants to know how many
/// documents a sequence may be packed of, and packs none over context parallel ranks.
void write_attention(Export& e) {
  const bool fused = !spec::writes_scores(e.job.strategy.attention_kernel.value_or(spec::AttentionKernel::cudnn));
  if (!e.keys.has("strategy.attention_kernel")) e.options.set("attention", fused ? "cudnn_flash_te" : "dot_product");
  if (fused && e.job.strategy.cp > 1) e.options.set("packing", "false");
  if (fused && e.job.strategy.cp == 1) e.options.set("max_segments_per_seq", "32");
}

void write(Export& e) {
  write_model(e);
  write_mesh(e);
  write_batch(e);
  write_attention(e);
  if (e.job.model.moe) e.options.set("megablox", "false");  // kernels of TPUs
  write_keys(e);
}

std::string yaml_text(const Value& value) {
  if (value.kind != Value::Kind::list) return value.quoted ? '"' + value.text + '"' : value.text;
  std::string out;
  for (const Value& item : value.items) out += (out.empty() ? "" : ", ") + yaml_text(item);
  return '[' + out + ']';
}

/// The profile's overlaps are XLA's options.
constexpr const char* kFlags =
    "--xla_gpu_enable_latency_hiding_scheduler=true --xla_gpu_enable_pipelined_all_gather=true "
    "--xla_gpu_enable_pipelined_reduce_scatter=true --xla_gpu_enable_pipelined_all_reduce=true "
    "--xla_gpu_enable_while_loop_double_buffering=true --xla_gpu_all_gather_combine_threshold_bytes=1073741824 "
    "--xla_gpu_reduce_scatter_combine_threshold_bytes=1073741824";

std::vector<File> files(Export& e) {
  e.notes.emplace_back(
      "add what is yours: dataset_type and its path, tokenizer_path, steps, learning_rate, checkpoints");
  if (e.job.cluster.nodes > 1)
    e.notes.emplace_back(
        "each node starts it once, with NNODES, NODE_RANK, JAX_COORDINATOR_IP and JAX_COORDINATOR_PORT set, as the "
        "batch script of --to slurm does");
  e.notes.emplace_back("since 2026 MaxText.train is maxtext.trainers.pre_train.train");
  e.notes.emplace_back("what is predicted needs XLA_FLAGS=\"" + std::string(kFlags) + "\"");
  std::string text = heading(e, "# ") +
                     folded("# python3 -m MaxText.train maxtext.yml run_name=NAME base_output_directory=DIR", "#   ") +
                     '\n';
  for (const Setting& option : e.options.all()) text += option.name + ": " + yaml_text(option.value) + '\n';
  return {{"maxtext.yml", text}};
}

/// One process a node, which drives all of its GPUs.
std::string command(const spec::Job& job, const std::string& file) {
  std::string where;
  if (job.cluster.nodes > 1) {
    where = "NNODES=" + std::to_string(job.cluster.nodes) +
            " NODE_RANK=\"$SLURM_NODEID\" JAX_COORDINATOR_IP=\"$HEAD_NODE\" JAX_COORDINATOR_PORT=29500 ";
  }
  return where + "XLA_FLAGS=\"" + kFlags + "\" python3 -m MaxText.train " + file + " \"$@\"";
}

}  // namespace

constinit const Framework kMaxtext{"maxtext", nullptr, "maxtext", write, files, command, parse_maxtext, read_maxtext};

}  // namespace config::launch
