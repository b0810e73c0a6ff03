// core/config/launch/maxtext_import.cpp -- MaxText's options into the keys of a Job: model, mesh, batches, experts and
// policies; the rest is workloads/launch/maxtext.yaml. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/launch/maxtext.h"

namespace config::launch {
namespace {

/// A size of a model: the option, the key, what base.yml has, and what a model of the catalogue has.
struct Size {
  const char *option, *key;
  std::int64_t usual;
  std::int64_t (*of)(const spec::Model&);
};
using spec::Model;
constexpr std::array kSizes{
    Size{"base_num_decoder_layers", "layers", 16, [](const Model& m) -> std::int64_t { return m.layers; }},
    Size{"base_emb_dim", "hidden", 2048, [](const Model& m) -> std::int64_t { return m.hidden; }},
    Size{"base_num_query_heads", "heads", 16, [](const Model& m) -> std::int64_t { return m.heads; }},
    Size{"base_num_kv_heads", "kv_heads", 16, [](const Model& m) -> std::int64_t { return m.kv_heads; }},
    Size{"head_dim", "head_dim", 128, [](const Model& m) -> std::int64_t { return m.head_dim; }},
    Size{"base_mlp_dim", "ffn", 7168, [](const Model& m) -> std::int64_t { return m.moe ? m.moe->ffn : m.ffn; }},
    Size{"vocab_size", "vocab", 32000, [](const Model& m) -> std::int64_t { return m.vocab; }}};
constexpr std::array kExpertSizes{
    Size{"base_moe_mlp_dim", "moe.ffn", 0, [](const Model& m) -> std::int64_t { return m.moe ? m.moe->ffn : 0; }},
    Size{"num_experts", "moe.experts", 1, [](const Model& m) -> std::int64_t { return m.moe ? m.moe->experts : 1; }},
    Size{"num_experts_per_tok", "moe.top_k", 1,
         [](const Model& m) -> std::int64_t { return m.moe ? m.moe->top_k : 1; }}};

/// What else makes a model another one. Such are imported by their name, or with --model.
constexpr std::array kOfModels{"attention_type",
                               "sliding_window_size",
                               "chunk_attn_window_size",
                               "attention_bias",
                               "attention_sink",
                               "attn_logits_soft_cap",
                               "final_logits_soft_cap",
                               "use_qk_norm",
                               "use_post_attn_norm",
                               "use_post_ffw_norm",
                               "mlp_bias",
                               "share_kv_projections",
                               "num_kv_shared_layers",
                               "mtp_num_layers",
                               "shared_experts",
                               "first_num_dense_layers",
                               "q_lora_rank",
                               "interleave_moe_layer_step",
                               "nope_layer_interval",
                               "trainable_position_size",
                               "partial_rotary_factor"};

/// A fault unless --model says what is trained.
void ask_for_model(Import& i, const std::string& option, const std::string& what) {
  const Value* value = i.options.take(option);
  if (i.unknown_model || !value) return;
  i.unknown_model = base::Fault{option, base::quoted(text_of(*value)) + ' ' + what, "add --model NAME", value->where};
}

/// "['silu', 'linear']" and "[silu, linear]": silu,linear.
std::string bare(std::string text) {
  std::erase_if(text, [](char c) { return std::string_view("[]'\" ").find(c) != std::string_view::npos; });
  return text;
}

/// A model that has no name, of llama2's or mixtral's blocks. Without an option base.yml has the value.
void read_sizes(Import& i) {
  i.keys.set("model.gated_mlp", "true");
  i.keys.set("model.activation", "swiglu");
  i.keys.set("model.norm", "rmsnorm");
  const std::string block = i.options.text("decoder_block", "llama2");
  if (block != "llama2" && block != "mistral" && block != "mixtral")
    ask_for_model(i, "decoder_block", "is neither llama2 nor mixtral, whose sizes are read");
  if (bare(i.options.text("mlp_activations", "silu,linear")) != "silu,linear")
    ask_for_model(i, "mlp_activations", "is not SwiGLU: [silu, linear]");
  for (const Size& size : kSizes) {
    const Value* value = i.options.take(size.option);
    i.keys.set(std::string("model.") + size.key, value ? *value : scalar(std::to_string(size.usual)));
  }
  const Value* tied = i.options.take("logits_via_embedding");
  i.keys.set("model.tied_embeddings", tied ? *tied : scalar("false"));
  const std::int64_t experts = i.number("num_experts").value_or(1);
  const Value *chosen = i.options.take("num_experts_per_tok"), *ffn = i.options.take("base_moe_mlp_dim");
  if (experts == 1) return;
  i.keys.set("model.moe.experts", *i.options.find("num_experts"));
  i.keys.set("model.moe.top_k", chosen ? *chosen : scalar("1"));
  i.keys.set("model.moe.ffn", ffn ? *ffn : *i.keys.find("model.ffn"));
}

/// Sizes beside a name, which are the name's own unless a command line has others and override_model_config: then
/// those.
Settings sizes_beside(Import& i, const Model* model, bool overrides) {
  Settings sizes;
  const auto read = [&](const char* option, std::string key, const std::string& own) {
    const Value* value = i.options.take(option);
    if (!value || !model || text_of(*value) == own) return;
    if (!overrides || is_maxtext_configuration(value->where.file)) {
      i.notes.push_back(std::string(option) + ' ' + text_of(*value) + ": model_name's own " + own +
                        " is taken, as MaxText does unless it is on the command line with override_model_config=true");
      return;
    }
    if (key == "ffn" && model->moe) key = "moe.ffn";
    sizes.set("model." + key, *value);
  };
  for (const Size& size : kSizes) read(size.option, size.key, model ? std::to_string(size.of(*model)) : "");
  for (const Size& size : kExpertSizes) read(size.option, size.key, model ? std::to_string(size.of(*model)) : "");
  read("logits_via_embedding", "tied_embeddings", model && model->tied_embeddings ? "true" : "false");
  return sizes;
}

void read_model(Import& i) {
  const Value* name = i.options.take("model_name");
  const bool overrides = i.options.text("override_model_config") == "true";
  i.options.take("override_model_config");
  if (!name || name->text == "default") {
    read_sizes(i);
  } else if (const auto* known = std::ranges::find(kMaxtextModels, name->text, &MaxtextModel::theirs);
             known != kMaxtextModels.end()) {
    Faults faults;
    const Model model = i.catalogue.model(scalar(known->ours), "model", faults);
    Settings sizes = sizes_beside(i, &model, overrides);
    i.keys.set(sizes.all().empty() ? "model" : "model.base", known->ours, name->where);
    for (Setting& size : sizes.all()) i.keys.set(size.name, std::move(size.value));
  } else {
    std::vector<std::string> all;
    for (const MaxtextModel& one : kMaxtextModels) all.emplace_back(one.theirs);
    i.unknown_model = base::Fault{"model_name", base::quoted(name->text) + " is none of its models that are known here",
                                  "write one of " + base::joined(all) + ", or add --model NAME", name->where};
    sizes_beside(i, nullptr, overrides);
  }
  for (const char* option : kOfModels) ask_for_model(i, option, "makes the model another one");
}

/// Whether a Job of this model routes tokens; a model that is not known may.
bool routes(const Import& i) {
  if (i.unknown_model) return true;
  const std::string name = i.keys.text("model", i.keys.text("model.base"));
  if (name.empty() || i.keys.has("model.moe.experts")) return i.keys.has("model.moe.experts");
  Faults faults;
  return i.catalogue.model(scalar(name), "model", faults).moe.has_value();
}

/// A capacity counts where experts' matmuls are dense. Where they are and have none, every expert computes every token.
void read_experts(Import& i) {
  const Value* capacity = i.options.find("capacity_factor");
  const bool sparse = i.options.text("sparse_matmul", "true") != "false", routed = routes(i);
  if (routed && capacity && sparse) {
    i.notes.push_back("capacity_factor " + text_of(*capacity) + ": no token is dropped unless sparse_matmul is false");
  } else if (routed && capacity) {
    i.keys.set("strategy.moe_capacity_factor", *capacity);
  } else if (routed && !sparse && (listed(i.ignored, "sparse_matmul") || listed(i.ignored, "all"))) {
    i.left_out.emplace_back("sparse_matmul");
  } else if (routed && !sparse) {
    i.refuse("sparse_matmul", "'false' without capacity_factor has every expert compute every token, which no Job does",
             "give capacity_factor, or add --ignore sparse_matmul to predict a run without it");
  }
  i.options.erase("capacity_factor");
  i.options.erase("sparse_matmul");
}

constexpr std::array kAxes{"tensor", "tensor_sequence", "context", "sequence", "expert", "fsdp", "data"};

/// Ranks along an axis, inside of nodes or over them; -1, which takes what is left, and so does one where nothing is
/// said.
struct Part {
  std::string option;
  std::int64_t size = 1;
  bool rest = false;
  base::Where where = {};
};

/// The option of an axis; `usual` is the one that takes what is left unless told otherwise.
Part part_of(Import& i, const char* where, const char* axis, std::string_view usual) {
  Part part{mesh_axis(where, axis)};
  if (const Value* value = i.options.find(part.option)) part.where = value->where;
  const std::int64_t size = i.number(part.option).value_or(usual == axis ? -1 : 1);
  part.rest = size == -1;
  part.size = part.rest ? 1 : size;
  if (part.size >= 1 && part.size <= 1'000'000) return part;
  i.faults.push_back({part.option, base::quoted(std::to_string(size)) + " is no number of ranks",
                      "write 1 or more, or -1 for what is left", part.where});
  part.size = 1;
  return part;
}

/// The one axis that takes what is left of `all`; a fault where they do not fit.
void fill(Import& i, std::vector<Part>& parts, std::int64_t all, const std::string& what) {
  std::int64_t product = 1;
  Part* rest = nullptr;
  for (Part& part : parts) {
    product = std::min<std::int64_t>(product * part.size, 1'000'000'000);
    if (!part.rest) continue;
    if (rest) {
      const bool left_out = rest->where.line == 0;
      const Part &said = left_out ? part : *rest, &other = left_out ? *rest : part;
      i.faults.push_back({said.option, "takes what is left, and so does " + other.option,
                          "write " + other.option + ": 1", said.where});
      return;
    }
    rest = &part;
  }
  if (all == 0 && (!rest || !i.faults.empty())) return;  // the GPUs are not known, and need not be
  if (all == 0) {
    i.faults.push_back({rest->option, "takes what is left of the GPUs, and how many there are is not known",
                        "add --node and --nodes", rest->where});
  } else if (all % product != 0 || (!rest && all != product)) {
    const auto said = std::ranges::find_if(parts, [](const Part& part) { return part.size > 1; });
    i.faults.push_back({said == parts.end() ? parts.front().option : said->option,
                        "the axes over " + what + " are " + std::to_string(product) + ", not " + std::to_string(all),
                        "name a cluster of as many, or mend the axes",
                        said == parts.end() ? base::Where{} : said->where});
  } else if (rest) {
    rest->size = all / product;
  }
}

struct Mesh {
  std::int64_t tensor = 1, context = 1, expert = 1, fsdp = 1, data = 1;
};

Mesh read_axes(Import& i) {
  std::vector<Part> inside, over;
  for (const char* axis : kAxes) {
    inside.push_back(part_of(i, "ici", axis, "fsdp"));
    over.push_back(part_of(i, "dcn", axis, "data"));
  }
  fill(i, inside, i.gpus / std::max<std::int64_t>(1, i.nodes), "the GPUs of a node");
  fill(i, over, i.gpus > 0 ? i.nodes : 0, "nodes");
  const auto of = [&](std::size_t at) { return inside[at].size * over[at].size; };
  if (of(3) > 1) i.notes.emplace_back("sequence ranks are predicted as context ranks");
  return {of(0) * of(1), of(2) * of(3), of(4), of(5), of(6)};
}

void read_mesh(Import& i, const Mesh& m) {
  const std::int64_t shard = m.fsdp * m.context * m.expert;
  const bool states = i.options.text("shard_optimizer_over_data") == "true";
  i.options.take("shard_optimizer_over_data");
  i.keys.set("strategy.tp", std::to_string(m.tensor));
  if (m.tensor > 1) i.keys.set("strategy.sp", "true");
  i.keys.set("strategy.cp", std::to_string(m.context));
  i.keys.set("strategy.ep", std::to_string(m.expert));
  i.keys.set("strategy.dp", std::to_string(m.fsdp * m.data * m.expert));
  i.keys.set("strategy.zero", shard > 1 ? "3" : states ? "1" : "0");
  if (shard > 1 && m.data > 1) i.keys.set("strategy.shard", std::to_string(shard));
}

/// Sequences a GPU, whole ones of the ranks that share them.
void read_batch(Import& i, const Mesh& m) {
  const Value* value = i.options.take("per_device_batch_size");
  const std::string text = value ? text_of(*value) : "12";
  const std::optional<double> each = base::number_in<double>(text);
  const double micro = each.value_or(0) * static_cast<double>(m.tensor * m.context);
  if (!each)
    return i.refuse("per_device_batch_size", base::quoted(text) + " is no number", "write sequences a GPU: 2, or 0.5");
  if (micro < 1 || micro != std::floor(micro) || micro > 1e9) {
    return i.refuse("per_device_batch_size",
                    base::quoted(text) + " times " + std::to_string(m.tensor * m.context) +
                        " ranks that share sequences is no whole number of them",
                    "write a number whose product with them is whole");
  }
  const auto batch = static_cast<std::int64_t>(micro);
  const std::int64_t steps = i.number("gradient_accumulation_steps").value_or(1);
  const base::Where where = value ? value->where : base::Where{};
  i.keys.set("training.micro_batch", std::to_string(batch), where);
  i.keys.set("training.global_batch", std::to_string(batch * steps * m.fsdp * m.data * m.expert), where);
}

/// What is kept on the device; of custom, tensor by tensor. Policies that keep little are told as full.
void read_policy(Import& i) {
  std::string named = i.options.text("remat_policy");
  const auto nearly_full = [&] {
    i.notes.push_back("remat_policy " + named + " is predicted as full: what little it keeps is computed again");
  };
  if (named == "save_qkv_proj" || named == "save_out_proj") nearly_full();
  if (named != "custom") return;
  bool offloads = false;
  const auto kept = [&](const char* tensor) {
    const std::string text = i.options.text(tensor);
    i.options.take(tensor);
    offloads |= text == "offload";
    return text == "device";
  };
  const bool queries = kept("query_proj"), keys = kept("key_proj"), values = kept("value_proj"), all = kept("qkv_proj");
  const bool both_of_kv = kept("kv_proj"), context = kept("context"), output = kept("out_proj");
  const auto of_either = [&](const char* dense, const char* routed) {
    const bool first = kept(dense);
    return kept(routed) || first;
  };
  const bool gate = of_either("mlpwi_0", "moe_mlpwi_0"), up = of_either("mlpwi_1", "moe_mlpwi_1");
  const bool both = kept("mlpwi"), down = of_either("mlpwo", "moe_mlpwo");
  const bool attention = ((queries && ((keys && values) || both_of_kv)) || all) && output, wide = (gate && up) || both;
  const char* policy = !attention ? nullptr
                       : wide     ? (context ? "minimal_with_context" : "minimal")
                       : context  ? "save_dot_with_context_except_mlp"
                                  : "save_dot_except_mlp";
  if (!(queries || keys || values || all || both_of_kv || context || gate || up || both)) {
    policy = "full";
    if (output || down) nearly_full();
  }
  const base::Where where = i.options.find("remat_policy")->where;
  if (policy && !offloads) return i.options.set("remat_policy", policy, where);
  i.refuse("remat_policy",
           offloads ? "'custom' keeps tensors on the host, which no Job does"
                    : "'custom' keeps tensors of which no Job has a name",
           "write full, minimal, minimal_with_context, save_dot_except_mlp or save_dot_with_context_except_mlp");
  i.options.erase("remat_policy");
}

/// Both moments have the weights' dtype; of the first it can be another.
void read_moments(Import& i) {
  if (i.options.text("mu_dtype") == i.options.text("weight_dtype", "float32")) i.options.take("mu_dtype");
}

/// Transformer Engine's fused attention, which is cuDNN's where there is cuDNN.
void read_attention(Import& i) {
  const Value* kernel = i.options.find("attention");
  if (i.has_cudnn || !kernel || kernel->text != "cudnn_flash_te") return;
  i.keys.set("strategy.attention_kernel", "flash2", kernel->where);
  i.options.erase("attention");
}

}  // namespace

void read_maxtext(Import& i) {
  i.also_known = {"model_name", "per_device_batch_size", "remat_policy", "capacity_factor"};
  for (const Size& size : kSizes) i.also_known.emplace_back(size.option);
  for (const char* axis : kAxes) {
    for (const char* where : {"ici", "dcn"}) i.also_known.push_back(mesh_axis(where, axis));
  }
  read_model(i);
  const Mesh mesh = read_axes(i);
  read_mesh(i, mesh);
  read_batch(i, mesh);
  read_experts(i);
  read_policy(i);
  read_attention(i);
  read_moments(i);
  if (!i.options.has("attention"))
    i.notes.emplace_back(
        "attention: what MaxText selects on GPUs is Pallas' kernel; Transformer Engine's is predicted");
  read_keys(i);
}

}  // namespace config::launch
