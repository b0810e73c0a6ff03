// core/config/launch/megatron_import.cpp -- Megatron-LM's arguments, out of a shell script or a YAML file, into the
// keys of a Job. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/launch/layer_pattern.h"
#include "core/config/launch/megatron.h"
#include "core/config/launch/megatron_script.h"

namespace config::launch {
namespace {

/// Arguments as a run saves them: every one, by its variable. What is false or null was not given. Recipes hold them
/// beside containers and environment variables: ARGS in Megatron-LM's examples/moe_recipes, MODEL_ARGS in
/// Megatron-MoE-ModelZoo (2026).
Settings options_of(const Value& tree) {
  const Value* arguments = &tree;
  for (const char* section : {"ARGS", "MODEL_ARGS"}) {
    const Value* found = tree.find(section);
    if (found && found->kind == Value::Kind::map) arguments = found;
  }
  Settings out;
  if (arguments != &tree) {
    std::vector<std::string> others;
    for (const auto& [name, value] : tree.entries)
      if (&value != arguments) others.push_back(name);
    if (!others.empty()) out.set(kNotes, list_of({base::joined(others) + ": beside the arguments, not read"}));
  }
  for (Setting& setting : flattened(*arguments).all()) {
    const std::size_t dot = setting.name.rfind('.');  // sections carry no meaning
    const std::string name = dashed(setting.name.substr(dot == std::string::npos ? 0 : dot + 1));
    out.set(name, std::move(setting.value));
  }
  return out;
}

/// What the user gives at `key`, else the option's number, which the table reads again; 1 where neither tells.
std::int64_t number_of(const Import& i, const std::string& key, const std::string& option) {
  const std::string text = i.given.has(key) ? i.given.text(key) : i.options.text(option);
  return std::max<std::int64_t>(1, base::count_in(text).value_or(1));
}
std::int64_t tensor_parallel(const Import& i) { return number_of(i, "strategy.tp", "tensor-model-parallel-size"); }
std::int64_t pipeline_stages(const Import& i) { return number_of(i, "strategy.pp", "pipeline-model-parallel-size"); }

constexpr std::int64_t kDivisor = 128;  // of rows on a tensor-parallel rank, Megatron's and its profile's

/// `rows` are whole already, of a multiple of `divisor`, which the profile would pad further.
void pad_no_further(Import& i, std::int64_t rows, std::int64_t divisor, const base::Where& where) {
  if (rows % (kDivisor * tensor_parallel(i)) != 0)
    i.keys.set("strategy.framework.vocab_multiple", std::to_string(divisor), where);
}

void read_vocabulary(Import& i) {
  if (const Value* padded = i.options.find("padded-vocab-size")) {
    i.options.take("vocab-size");
    if (const std::int64_t rows = number_of(i, "model.vocab", "padded-vocab-size"); rows > 1)
      pad_no_further(i, rows, 1, padded->where);
    return;
  }
  const Value* written = i.options.find("vocab-size");
  if (!written) return;
  const base::Where where = written->where;
  const auto rows = i.number("vocab-size");
  const std::int64_t divisor = i.number("make-vocab-size-divisible-by").value_or(kDivisor);
  if (!rows || divisor < 1) return;
  const bool adds_end = i.options.text("tokenizer-type") == "NullTokenizer";  // of a document
  const std::int64_t unit = divisor * tensor_parallel(i);
  const std::int64_t padded = (*rows + adds_end + unit - 1) / unit * unit;
  i.keys.set("model.vocab", std::to_string(padded), where);
  pad_no_further(i, padded, divisor, where);
}

/// Widths that follow from others where they are not given.
void read_widths(Import& i) {
  if (const Value* positions = i.options.take("max-position-embeddings")) i.keys.set("model.max_positions", *positions);
  if (i.options.take("use-rotary-position-embeddings")) i.keys.set("model.position", "rope");
  const std::int64_t hidden = i.number("hidden-size").value_or(0);
  if (!i.options.has("ffn-hidden-size") && hidden > 0) {
    const std::int64_t gated = static_cast<std::int64_t>(4.0 * static_cast<double>(hidden) * 2 / 3 / 64) * 64;
    i.keys.set("model.ffn", std::to_string(i.options.has("swiglu") ? gated : 4 * hidden));
  }
  if (i.options.has("num-experts") && !i.options.has("moe-ffn-hidden-size")) {
    const Value* ffn = i.options.find("ffn-hidden-size");
    i.keys.set("model.moe.ffn", ffn ? text_of(*ffn) : i.keys.text("model.ffn"));
  }
}

void read_expert_layers(Import& i) {
  const Value* pattern = i.options.take("moe-layer-freq");
  if (!pattern) return;
  const std::optional<std::vector<int>> layers = layer_list(text_of(*pattern));
  const std::optional<ExpertLayers> found = layers ? expert_layers(*layers) : std::nullopt;
  if (!found) {
    return i.refuse(
        "moe-layer-freq", base::quoted(text_of(*pattern)) + " is no pattern of a Job",
        "a Job has first_dense dense layers, or experts in every n-th layer: write ([0]*3+[1]*58) or ([0,1]*16)");
  }
  i.keys.set("model.moe.first_dense", std::to_string(found->first_dense), pattern->where);
  i.keys.set("model.moe.every", std::to_string(found->every), pattern->where);
}

void set_stage_layers(Import& i, const std::vector<int>& layers, const base::Where& where) {
  std::vector<std::string> texts;
  for (const int count : layers) texts.push_back(std::to_string(count));
  Value list = list_of(texts);
  list.where = where;
  i.keys.set("strategy.stage_layers", std::move(list));
}

void read_layout(Import& i, std::int64_t pp) {
  const Value layout = *i.options.take("pipeline-model-parallel-layout");
  const auto mtp = static_cast<int>(i.number("mtp-num-layers").value_or(0));
  const auto layers = stage_layers(text_of(layout), mtp);
  if (!layers || static_cast<std::int64_t>(layers->size()) % pp != 0) {
    return i.refuse("pipeline-model-parallel-layout", base::quoted(text_of(layout)) + " is no layout of a Job",
                    "a Job's begins with E, ends with L, an m for each of --mtp-num-layers right before it, and has t "
                    "and | between them, pp (times vpp) parts in all");
  }
  set_stage_layers(i, *layers, layout.where);
  const std::int64_t chunks = static_cast<std::int64_t>(layers->size()) / pp;
  if (chunks > 1) i.options.set("num-virtual-stages-per-pipeline-rank", std::to_string(chunks), layout.where);
}

/// Layers of the first and of the last stage; those between share the rest.
void read_ends(Import& i, std::int64_t pp, std::int64_t layers) {
  const Value* first = i.options.find("decoder-first-pipeline-num-layers");
  const base::Where where = (first ? first : i.options.find("decoder-last-pipeline-num-layers"))->where;
  const auto front = i.number("decoder-first-pipeline-num-layers"), back = i.number("decoder-last-pipeline-num-layers");
  const std::int64_t between = pp - (front ? 1 : 0) - (back ? 1 : 0);
  const std::int64_t rest = layers - front.value_or(0) - back.value_or(0);
  if (i.options.has("num-virtual-stages-per-pipeline-rank") || between < 1 || rest < 0 || rest % between != 0) {
    i.faults.push_back({"decoder-first-pipeline-num-layers",
                        "the layers between do not divide into the other stages, or there are several chunks a stage",
                        "write --pipeline-model-parallel-layout", where});
    return;
  }
  std::vector<int> out(static_cast<std::size_t>(pp), static_cast<int>(rest / between));
  if (front) out.front() = static_cast<int>(*front);
  if (back) out.back() = static_cast<int>(*back);
  set_stage_layers(i, out, where);
}

/// Both ends counted, or the loss alone where only that divides: what a Job's embedding_in_split means.
void read_split(Import& i, std::int64_t chunks, std::int64_t layers) {
  const bool embedding = i.options.take("account-for-embedding-in-pipeline-split");
  const bool loss = i.options.take("account-for-loss-in-pipeline-split");
  if (!embedding && !loss) return;
  if (chunks < 1 || !loss || embedding != ((layers + 2) % chunks == 0)) {
    return i.refuse(embedding ? "account-for-embedding-in-pipeline-split" : "account-for-loss-in-pipeline-split",
                    "does not split " + std::to_string(layers) + " layers as embedding_in_split does",
                    "write --pipeline-model-parallel-layout");
  }
  i.keys.set("strategy.embedding_in_split", "true");
}

void read_stages(Import& i) {
  const std::int64_t pp = pipeline_stages(i);
  const std::int64_t layers = i.number("num-layers").value_or(0);
  if (const Value* each = i.options.find("num-layers-per-virtual-pipeline-stage")) {
    const base::Where where = each->where;
    const auto count = i.number("num-layers-per-virtual-pipeline-stage");
    if (!count) return;
    if (*count < 1 || layers % (pp * *count) != 0) {
      return i.refuse("num-layers-per-virtual-pipeline-stage", "does not divide the layers of a stage",
                      "write a divisor of layers / stages");
    }
    i.options.set("num-virtual-stages-per-pipeline-rank", std::to_string(layers / pp / *count), where);
  }
  if (i.options.has("pipeline-model-parallel-layout")) read_layout(i, pp);
  if (i.options.has("decoder-first-pipeline-num-layers") || i.options.has("decoder-last-pipeline-num-layers"))
    read_ends(i, pp, layers);
  const std::int64_t vpp = i.number("num-virtual-stages-per-pipeline-rank").value_or(1);
  read_split(i, pp * vpp, layers);
  if (vpp > 1 && pp > 1 && i.options.text("recompute-method") == "block") {
    i.refuse("recompute-method", "block counts the layers of each chunk, and a Job those of a stage",
             "write --recompute-method uniform");
  }
}

void read_narrow_layers(Import& i) {
  const Value* wide = i.options.take("first-last-layers-bf16");
  const base::Where where = wide ? wide->where : base::Where{};
  const auto first = i.number("num-layers-at-start-in-bf16"), last = i.number("num-layers-at-end-in-bf16");
  if (!wide) return;
  i.keys.set("training.wide_layers.first", std::to_string(first.value_or(1)), where);
  i.keys.set("training.wide_layers.last", std::to_string(last.value_or(1)), where);
}

void read_shards(Import& i) {
  const Value* written = i.options.find("num-distributed-optimizer-instances");
  if (!written) return;
  const base::Where where = written->where;
  const auto copies = i.number("num-distributed-optimizer-instances");
  if (!copies) return;
  const std::int64_t ranks = i.gpus / (tensor_parallel(i) * pipeline_stages(i));
  if (*copies < 1 || ranks < 1 || ranks % *copies != 0) {
    return i.refuse("num-distributed-optimizer-instances",
                    "does not divide the data-parallel ranks, or the GPUs are not known",
                    "add --node and --nodes, and write a divisor of the data-parallel ranks");
  }
  i.keys.set("strategy.shard", std::to_string(ranks / *copies), where);
}

void read_batch(Import& i) {
  if (const Value* nodes = i.options.take("nnodes")) i.keys.set("cluster.nodes", *nodes);
  if (Value modules; const Value* written = i.options.find("recompute-modules")) {
    modules = *written;
    if (modules.kind == Value::Kind::scalar) {
      modules = list_of({modules.text});
      modules.where = written->where;
    }
    i.options.set("recompute-modules", std::move(modules));
  }
  if (i.options.has("optimizer-cpu-offload") && !i.options.has("exp-avg-dtype"))
    i.options.erase("use-precision-aware-optimizer");
  // One microbatch of each replica, where nothing is said (megatron/training/arguments.py, validate_args).
  const std::int64_t ranks =
      tensor_parallel(i) * pipeline_stages(i) * number_of(i, "strategy.cp", "context-parallel-size");
  const std::int64_t micro = number_of(i, "training.micro_batch", "micro-batch-size");
  const bool told = i.options.has("global-batch-size") || i.options.has("rampup-batch-size");
  if (!told && i.options.has("micro-batch-size") && i.gpus >= ranks)
    i.keys.set("training.global_batch", std::to_string(micro * (i.gpus / ranks)));
}

}  // namespace

Settings parse_megatron(const std::string& path, GivenVariables& variables) {
  if (path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json")) return options_of(load(path));
  return script_options(path, variables);
}

namespace {

std::vector<std::string> texts_of(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.items) out.push_back(item.text);
  return out;
}

/// Whether an option is `word`, or a list with it.
bool says(const Value* option, std::string_view word) {
  return option && (option->text == word || std::any_of(option->items.begin(), option->items.end(),
                                                        [&](const Value& item) { return item.text == word; }));
}

/// Attention and router in graphs, experts not, with whatever else is beside them.
void read_graphs(Import& i) {
  const Value* scope = i.options.find("cuda-graph-scope");
  if (!i.keys.has("model.moe.experts") || !says(scope, "attn") || says(scope, "moe")) return;
  i.options.take("cuda-graph-scope");
  i.keys.set("strategy.cuda_graphs", "beside_experts");
}

/// Transformer Engine's fuser takes activation and casts of experts into their matmuls where its kernels are
/// (core/spec/fused_experts.h); what else it fuses has no key.
void read_fuser(Import& i) {
  const Value* width = i.options.find("moe-ffn-hidden-size");
  const bool even = width && std::strtoll(width->text.c_str(), nullptr, 10) % 128 == 0;
  const bool fuses = i.options.has("num-experts") && says(i.options.find("fp8-recipe"), "mxfp8") &&
                     i.options.has("swiglu") && i.options.has("disable-bias-linear") && even &&
                     !says(i.options.find("recompute-modules"), "moe_act");
  if (fuses) return;
  i.options.erase("moe-mlp-glu-interleave-size");
  if (!i.options.has("use-transformer-engine-op-fuser")) return;
  i.options.erase("use-transformer-engine-op-fuser");
  i.notes.push_back("use-transformer-engine-op-fuser true: what it fuses here is not told apart");
}

/// An indexer learns where its loss has a coefficient; over all keys, unless the loss is said to be sparse.
void read_indexer_loss(Import& i) {
  const Value* coefficient = i.options.take("dsa-indexer-loss-coeff");
  const bool learns = coefficient && std::strtod(text_of(*coefficient).c_str(), nullptr) > 0;
  if (!learns) return i.options.erase("dsa-indexer-use-sparse-loss");
  if (i.options.has("dsa-indexer-use-sparse-loss")) return;
  i.refuse("dsa-indexer-loss-coeff", base::quoted(text_of(*coefficient)) + " of a loss over all keys",
           "a Job's indexer learns from the keys that it chose: add --dsa-indexer-use-sparse-loss");
}

/// Nothing of a script is run: a branch that may be taken is read, and the last word counts.
void read_script(Import& i) {
  if (const Value* notes = i.options.take(kNotes)) {
    for (std::string& note : texts_of(*notes)) i.notes.push_back(std::move(note));
  }
  if (const Value* unknown = i.options.take(kUnknown)) {
    for (const Value& word : unknown->items) i.faults.push_back(i.not_told("options", word));
  }
  if (const Value* blocking = i.options.take(kLaunchBlocking)) {
    const bool graphs = i.options.text("cuda-graph-impl", "none") != "none" || i.options.has("enable-cuda-graph") ||
                        i.options.has("external-cuda-graph");
    if (graphs) i.notes.push_back("CUDA_LAUNCH_BLOCKING: left out, for launches inside of graphs do not wait");
    if (!graphs) i.keys.set("strategy.launch_blocking", "true", blocking->where);
  }
  const Value* options = i.options.take(kUnderCondition);
  if (!options) return;
  std::vector<std::string> told;
  for (const std::string& option : texts_of(*options)) {
    const Value* value = i.options.find(option);
    if (value && !listed(i.table.no_effect, option)) told.push_back(option + ' ' + text_of(*value));
  }
  if (!told.empty()) i.notes.push_back(base::joined(told) + kAsIfItHeld);
}

}  // namespace

void read_megatron(Import& i) {
  read_script(i);
  // Of saved arguments: what a flag would not have said.
  std::erase_if(i.options.all(), [](const Setting& s) { return s.value.text == "false" || s.value.text == "None"; });
  if (i.options.has("multi-latent-attention"))  // latents always have the norms that it asks for
    i.options.erase("qk-layernorm");
  read_fuser(i);
  read_indexer_loss(i);
  read_batch(i);
  read_vocabulary(i);
  read_widths(i);
  read_expert_layers(i);
  read_stages(i);
  read_narrow_layers(i);
  read_shards(i);
  read_keys(i);
  read_graphs(i);
}

}  // namespace config::launch
