// core/config/launch/megatron.cpp -- Megatron-LM: what its arguments say that is no single line of
// workloads/launch/megatron.yaml, on the way out. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "core/base/text.h"
#include "core/config/launch/framework.h"
#include "core/config/launch/layer_pattern.h"
#include "core/config/launch/megatron.h"

namespace config::launch {
namespace {

/// It asserts that there are positions for the whole sequence, also where they are rotary and cost nothing.
void write_positions(Export& e) {
  const spec::Model& m = e.job.model;
  e.keys.take("model.max_positions");
  const auto assumed = [](const std::string& one) { return one.starts_with("model.max_positions:"); };
  if (std::ranges::any_of(e.job.assumptions, assumed))
    e.notes.emplace_back("model.max_positions is not stated: there are positions for training.sequence alone");
  if (m.has_position_table() && m.max_positions > 0 && m.max_positions < e.job.training.sequence) {
    return e.refuse("model.max_positions",
                    base::quoted(std::to_string(m.max_positions)) + ": fewer learned positions than the sequence",
                    "write at least training.sequence");
  }
  const std::int64_t positions =
      m.has_position_table() ? m.max_positions : std::max(m.max_positions, e.job.training.sequence);
  e.options.set("max-position-embeddings", std::to_string(positions));
}

void write_expert_layers(Export& e) {
  const auto& moe = e.job.model.moe;
  if (!moe) return;
  if (!e.keys.has("model.ffn")) e.options.set("ffn-hidden-size", std::to_string(moe->ffn));  // every layer has experts
  if (moe->first_dense > 0 || moe->every > 1) e.options.set("moe-layer-freq", expert_layers(e.job.model));
  e.options.set("moe-grouped-gemm", "true");
}

/// A list of layers is a layout, which also says how many chunks a stage has.
void write_stages(Export& e) {
  const spec::Strategy& s = e.job.strategy;
  const int chunks = s.pp * (s.traits().takes_vpp ? s.vpp : 1);
  if (e.keys.take("strategy.stage_layers")) {
    e.options.set("pipeline-model-parallel-layout", layout_of(s.stage_layers, e.job.model.mtp));
    e.options.erase("num-virtual-stages-per-pipeline-rank");
  }
  if (e.keys.take("strategy.embedding_in_split") && s.embedding_in_split) {
    if ((e.job.model.layers + 2) % chunks == 0) e.options.set("account-for-embedding-in-pipeline-split", "true");
    e.options.set("account-for-loss-in-pipeline-split", "true");
  }
  if (s.recompute.layers > 0 && chunks > s.pp) {
    e.refuse("strategy.recompute.layers", "layers of a stage with several chunks: it counts those of each chunk",
             "write recompute: full or none");
  }
}

void write_narrow_layers(Export& e) {
  const spec::WideLayers& wide = e.job.training.wide_layers;
  const bool there = e.keys.take("training.wide_layers.first") != nullptr;
  e.keys.take("training.wide_layers.last");
  if (!there || (wide.first == 0 && wide.last == 0)) return;
  e.options.set("first-last-layers-bf16", "true");
  e.options.set("num-layers-at-start-in-bf16", std::to_string(wide.first));
  e.options.set("num-layers-at-end-in-bf16", std::to_string(wide.last));
}

void write_shards(Export& e) {
  const spec::Strategy& s = e.job.strategy;
  if (!e.keys.take("strategy.shard")) return;
  e.options.set("num-distributed-optimizer-instances", std::to_string(s.cp * s.data() / s.shard));
}

/// Options that others cannot do without, and that have no effect of their own.
void write_companions(Export& e) {
  if (e.options.has("use-megatron-fsdp")) e.options.set("ckpt-format", "fsdp_dtensor");
  if (e.options.has("cuda-graph-impl")) e.options.set("te-rng-tracker", "true");
  if (e.options.has("moe-router-enable-expert-bias")) e.options.set("moe-router-score-function", "sigmoid");
  if (e.job.model.mla) e.options.set("qk-layernorm", "true");  // of the latents, which a Job's have anyway
  if (e.options.has("dsa-indexer-use-sparse-loss")) e.options.set("dsa-indexer-loss-coeff", "0.001");
  if (e.options.has("optimizer-cpu-offload")) e.options.set("use-precision-aware-optimizer", "true");
}

/// Its kernels and overlaps need one hardware queue before Blackwell, unless FSDP or expert overlap need several.
bool one_queue(const Export& e) {
  const spec::Strategy& s = e.job.strategy;
  const bool one = traits_of(e.job.cluster.node.gpu.generation).one_hardware_queue;
  return (s.tp > 1 || s.cp > 1) && one && !e.options.has("use-megatron-fsdp") &&
         !e.options.has("overlap-moe-expert-parallel-comm");
}

std::vector<File> files(Export& e) {
  e.notes.emplace_back(
      "add what is yours behind train.sh: --data-path, --tokenizer-type, --train-iters, --lr, --rotary-base, --save");
  std::string text = "#!/usr/bin/env bash\n" + heading(e, "# ") +
                     "# Run it in Megatron-LM's folder on every node;\n"
                     "# what you add behind it goes to pretrain_gpt.py.\nset -euo pipefail\n" +
                     (one_queue(e) ? "export CUDA_DEVICE_MAX_CONNECTIONS=1\n" : "") + "args=(\n";
  for (const std::string& flag : flags_of(e.options)) text += "  " + flag + '\n';
  return {{"train.sh", text + ")\n" + folded(torchrun(e.job) + " pretrain_gpt.py \"${args[@]}\" \"$@\"") + '\n'}};
}

}  // namespace

std::vector<std::string> flags_of(const Settings& options) {
  std::vector<std::string> out;
  for (const Setting& option : options.all()) {
    std::string flag = "--" + option.name;
    if (option.value.kind == Value::Kind::list) {
      for (const Value& item : option.value.items) flag += ' ' + item.text;
    } else if (option.value.text != "true") {
      const bool plain = option.value.text.find_first_of("*|()[]&;<> \"'$") == std::string::npos;
      flag += plain ? ' ' + option.value.text : " '" + option.value.text + "'";
    }
    out.push_back(flag);
  }
  return out;
}

void write_megatron(Export& e) {
  write_keys(e);
  write_positions(e);
  write_expert_layers(e);
  write_stages(e);
  write_narrow_layers(e);
  write_shards(e);
  write_companions(e);
}

constinit const Framework kMegatron{"megatron", nullptr,         "megatron",     write_megatron,
                                    files,      as_shell_script, parse_megatron, read_megatron};

}  // namespace config::launch
