// core/config/launch/accelerate.cpp -- Accelerate's YAML for FSDP: machines, processes and groups of shards; the rest
// is workloads/launch/accelerate-fsdp.yaml. SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/config/launch/framework.h"

namespace config::launch {
namespace {

const std::string kReplicate = "parallelism_config.parallelism_config_dp_replicate_size";
const std::string kShard = "parallelism_config.parallelism_config_dp_shard_size";
const std::string kStrategy = "fsdp_config.fsdp_sharding_strategy";
const std::string kVersion = "fsdp_config.fsdp_version", kReshard = "fsdp_config.fsdp_reshard_after_forward";

void write(Export& e) {
  const spec::Strategy& s = e.job.strategy;
  e.options.set("num_machines", std::to_string(e.job.cluster.nodes));
  e.options.set("num_processes", std::to_string(e.job.cluster.gpus()));
  if (e.keys.take("strategy.shard")) {
    e.options.set(kReplicate, std::to_string(s.data() / s.shard));
    e.options.set(kShard, std::to_string(s.shard));
  }
  write_keys(e);
}

void write_map(const Value& map, const std::string& margin, std::string& out) {
  for (const auto& [key, value] : map.entries) {
    out += margin + key + ':';
    if (value.kind == Value::Kind::map) {
      out += '\n';
      write_map(value, margin + "  ", out);
    } else {
      out += ' ' + (value.quoted ? '\'' + value.text + '\'' : value.text) + '\n';
    }
  }
}

std::vector<File> files(Export& e) {
  e.notes.emplace_back(
      "on several machines: accelerate launch --config_file fsdp.yaml --machine_rank N --main_process_ip HEAD "
      "--main_process_port 29500 TRAIN.py");
  std::string text = heading(e, "# ") + "# accelerate launch --config_file fsdp.yaml TRAIN.py\n";
  write_map(nested(e.options), "", text);
  return {{"fsdp.yaml", text}};
}

/// HYBRID_SHARD shards inside of each machine.
void read_hybrid(Import& i) {
  const std::string strategy = i.options.text(kStrategy);
  const bool whole = strategy == "HYBRID_SHARD" || strategy == "4",
             kept = strategy == "HYBRID_SHARD_ZERO2" || strategy == "5";
  if (!whole && !kept) return;
  const base::Where where = i.options.find(kStrategy)->where;
  const std::int64_t machines = i.number("num_machines").value_or(1), processes = i.number("num_processes").value_or(0);
  if (machines < 1 || processes < 1 || processes % machines != 0) {
    return i.refuse(kStrategy, "shards inside of a machine, and how many GPUs that has is not said",
                    "write num_machines and num_processes");
  }
  i.keys.set("strategy.shard", std::to_string(processes / machines), where);
  i.options.set(kStrategy, whole ? "FULL_SHARD" : "SHARD_GRAD_OP", where);
}

/// Version 2 says by fsdp_reshard_after_forward what the strategy of version 1 said, and files that were moved from one
/// to the other often have both (Accelerate's guide "FSDP1 vs FSDP2").
void read_moved_strategy(Import& i) {
  if (i.options.text(kVersion) != "2" || !i.options.has(kStrategy)) return;
  const std::string strategy = i.options.text(kStrategy), reshard = i.options.text(kReshard);
  const bool full = strategy == "FULL_SHARD" || strategy == "1", kept = strategy == "SHARD_GRAD_OP" || strategy == "2";
  if ((full && reshard != "false") || (kept && reshard == "false")) {
    i.options.erase(kStrategy);
    i.notes.push_back("fsdp_sharding_strategy: " + strategy +
                      " is of version 1; fsdp_reshard_after_forward says the same");
    return;
  }
  i.refuse(kStrategy, "is of version 1, and fsdp_version is 2, whose fsdp_reshard_after_forward does not say the same",
           "leave it out: fsdp_reshard_after_forward: true stands for FULL_SHARD, false for SHARD_GRAD_OP");
}

void read(Import& i) {
  if (const Value* machines = i.options.take("num_machines")) i.keys.set("cluster.nodes", *machines);
  read_hybrid(i);
  read_moved_strategy(i);
  const auto shard = i.number(kShard), replicate = i.number(kReplicate);
  if (shard && replicate.value_or(1) > 1) i.keys.set("strategy.shard", *i.options.find(kShard));
  if (i.options.has(kReshard) && !i.options.has(kVersion)) {
    i.options.set(kVersion, "2");  // an option that version 1 does not have
  }
  read_keys(i);
  if (i.keys.text("strategy.zero") == "0") i.keys.erase("strategy.fsdp.unit");  // DDP, which has none
}

std::string command(const spec::Job&, const std::string& file) {
  return "accelerate launch --config_file " + file +
         " --machine_rank \"$SLURM_NODEID\" --main_process_ip \"$HEAD_NODE\" --main_process_port 29500"
         " \"${TRAIN:?names the training script}\" \"$@\"";
}

}  // namespace

constinit const Framework kAccelerate{"accelerate-fsdp",
                                      nullptr,
                                      "accelerate-fsdp",
                                      write,
                                      files,
                                      command,
                                      [](const std::string& path, GivenVariables&) { return flattened(load(path)); },
                                      read};

}  // namespace config::launch
