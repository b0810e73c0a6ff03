// core/config/launch/maxtext_import.cpp -- MaxText's configuration, or its arguments in a shell script, into the keys
// of a Job. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/launch/maxtext.h"
#include "core/config/launch/shell_words.h"

namespace config::launch {
namespace {

/// "python3 MaxText/train.py base.yml a=b", "python3 -m maxtext.trainers.pre_train.train base.yml a=b".
bool is_program(const std::string& word) {
  return word.ends_with("train.py") || word == "MaxText.train" || word.ends_with(".train");
}

Settings arguments_of(const std::vector<ShellWord>& words) {
  Settings out;
  auto at = std::find_if(words.begin(), words.end(), [](const ShellWord& word) { return is_program(word.text); });
  for (; at != words.end() && !at->ends_command; ++at) {
    const std::size_t equals = at->text.find('=');
    if (equals != std::string::npos && !at->text.starts_with('-'))
      out.set(at->text.substr(0, equals), at->text.substr(equals + 1), at->where);
  }
  return out;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void read_model(Import& i) {
  const Value* name = i.options.take("model_name");
  if (!name || name->text == "default") {
    i.keys.set("model.gated_mlp", "true");
    i.keys.set("model.activation", "swiglu");
    i.keys.set("model.norm", "rmsnorm");
    return;
  }
  // What it says of sizes besides is the model's unless override_model_config is true.
  for (const MaxtextModel& one : kMaxtextModels) {
    if (name->text == one.theirs) return i.keys.set("model", one.ours, name->where);
  }
  std::vector<std::string> known;
  for (const MaxtextModel& one : kMaxtextModels) known.emplace_back(one.theirs);
  i.unknown_model = base::Fault{"model_name", base::quoted(name->text) + " is none of its models that are known here",
                                "write one of " + base::joined(known) + ", or add --model NAME", name->where};
}

/// Sizes of a model that has no name. Without an option base.yml has the value.
void read_sizes(Import& i) {
  if (i.keys.has("model") || i.unknown_model) return;
  const auto size = [&](const char* option, const char* key, std::int64_t otherwise) {
    const Value* value = i.options.take(option);
    i.keys.set(key, value ? *value : scalar(std::to_string(otherwise)));
  };
  size("base_num_decoder_layers", "model.layers", 16);
  size("base_emb_dim", "model.hidden", 2048);
  size("base_num_query_heads", "model.heads", 16);
  size("base_num_kv_heads", "model.kv_heads", 16);
  size("head_dim", "model.head_dim", 128);
  size("base_mlp_dim", "model.ffn", 7168);
  size("vocab_size", "model.vocab", 32000);
  const Value* tied = i.options.take("logits_via_embedding");
  i.keys.set("model.tied_embeddings", tied ? *tied : scalar("false"));
  const std::int64_t experts = i.number("num_experts").value_or(1);
  const Value* chosen = i.options.take("num_experts_per_tok");
  if (experts == 1) return;
  i.keys.set("model.moe.experts", *i.options.find("num_experts"));
  i.keys.set("model.moe.top_k", chosen ? *chosen : scalar("1"));
  i.keys.set("model.moe.ffn", i.keys.text("model.ffn"));
}

/// Ranks along an axis, inside of nodes and over them; -1, which takes what is left, and so do fsdp and data where
/// nothing is said.
struct Part {
  std::int64_t size = 1;
  bool rest = false;
};
struct Axis {
  const char* name;
  Part inside, over;
};

Part part_of(Import& i, const char* where, const char* axis, const char* usual) {
  const std::string option = mesh_axis(where, axis);
  const bool usual_rest = usual != nullptr && option == std::string(where) + "_" + usual + "_parallelism";
  const std::int64_t size = i.number(option).value_or(usual_rest ? -1 : 1);
  return size == -1 ? Part{1, true} : Part{size, false};
}

/// The one axis that takes what is left of `all`; a fault where they do not fit.
void fill(Import& i, std::vector<Axis>& axes, Part Axis::*part, std::int64_t all, const char* what) {
  std::int64_t product = 1;
  Part* rest = nullptr;
  for (Axis& axis : axes) {
    product *= std::max<std::int64_t>(1, (axis.*part).size);
    if ((axis.*part).rest) rest = &(axis.*part);
  }
  if (all == 0 && !rest) return;  // the GPUs are not known, and need not be
  if (all == 0 || all % product != 0 || (!rest && all != product)) {
    i.faults.push_back({"mesh",
                        all == 0 ? "takes what is left of the GPUs, and how many there are is not known"
                                 : "the axes over " + std::string(what) + " are " + std::to_string(product) + ", not " +
                                       std::to_string(all),
                        all == 0 ? "add --node and --nodes" : "name a cluster of as many, or mend the axes",
                        {}});
    return;
  }
  if (rest) rest->size = all / product;
}

struct Mesh {
  std::int64_t tensor = 1, context = 1, expert = 1, fsdp = 1, data = 1;
};

Mesh read_axes(Import& i) {
  std::vector<Axis> axes{{"tensor", {}, {}},   {"tensor_sequence", {}, {}}, {"context", {}, {}},
                         {"sequence", {}, {}}, {"expert", {}, {}},          {"fsdp", {}, {}},
                         {"data", {}, {}}};
  for (Axis& axis : axes) {
    axis.inside = part_of(i, "ici", axis.name, "fsdp");
    axis.over = part_of(i, "dcn", axis.name, "data");
  }
  // A mesh of which nothing lies over nodes is all inside.
  fill(i, axes, &Axis::inside, i.gpus / std::max<std::int64_t>(1, i.nodes), "the GPUs of a node");
  fill(i, axes, &Axis::over, i.gpus > 0 ? i.nodes : 0, "nodes");
  const auto of = [&](std::size_t at) { return axes[at].inside.size * axes[at].over.size; };
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
  if (!each || micro < 1 || micro != std::floor(micro) || micro > 1e9) {
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

/// What is kept on the device; of custom, tensor by tensor.
void read_policy(Import& i) {
  const std::string named = i.options.text("remat_policy");
  if (named == "save_qkv_proj" || named == "save_out_proj")
    i.notes.push_back("remat_policy " + named + " is predicted as full: what little it keeps is computed again");
  if (named != "custom") return;
  const auto kept = [&](const char* tensor) {
    const bool on_device = i.options.text(tensor) == "device";
    i.options.take(tensor);
    return on_device;
  };
  const bool queries = kept("query_proj"), keys = kept("key_proj"), values = kept("value_proj"), all = kept("qkv_proj");
  const bool context = kept("context"), output = kept("out_proj");
  const bool gate = kept("mlpwi_0"), up = kept("mlpwi_1"), both = kept("mlpwi"), down = kept("mlpwo");
  const bool attention = ((queries && keys && values) || all) && output, wide = (gate && up) || both;
  const char* policy = !attention ? nullptr
                       : wide     ? (context ? "minimal_with_context" : "minimal")
                       : context  ? "save_dot_with_context_except_mlp"
                                  : "save_dot_except_mlp";
  const bool nothing = !(queries || keys || values || all || context || output || gate || up || both || down);
  if (nothing) policy = "full";
  if (policy) return i.options.set("remat_policy", policy, i.options.find("remat_policy")->where);
  i.refuse("remat_policy", "'custom' keeps tensors of which no Job has a name",
           "write full, minimal, minimal_with_context, save_dot_except_mlp or save_dot_with_context_except_mlp");
  i.options.erase("remat_policy");
}

}  // namespace

Settings parse_maxtext(const std::string& path) {
  if (path.ends_with(".yml") || path.ends_with(".yaml") || path.ends_with(".json")) return flattened(load(path));
  return arguments_of(shell_words(text_of_file(path), path));
}

void read_maxtext(Import& i) {
  read_model(i);
  read_sizes(i);
  const Mesh mesh = read_axes(i);
  read_mesh(i, mesh);
  read_batch(i, mesh);
  read_policy(i);
  read_keys(i);
}

}  // namespace config::launch
