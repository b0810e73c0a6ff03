// tests/core/config/launch/job_settings_test.cpp -- what exporters see of a Job. A key of a Job that is not here is
// exported as if nobody had written it.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/job_settings.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "core/config/job_reader.h"

namespace {

using config::launch::Setting;
using Keys = std::set<std::string>;

const config::Catalogue& catalogue() {
  static const config::Catalogue all(FORERUN_SOURCE_DIR);
  return all;
}

config::Value job(const std::string& strategy, const std::string& training = "",
                  const std::string& model = "llama3-8b") {
  return config::parse("model: " + model + "\ncluster: {node: dgx-h100, nodes: 8}\ntraining: {sequence: 8192, " +
                           "global_batch: 512" + training + "}\nstrategy: {" + strategy + "}\n",
                       "job.yaml");
}

/// The keys that readers know of a map of the Job: what they tell of one that is no key at all.
Keys known(const config::Value& tree, const std::string& map) {
  std::string told;
  try {
    config::read_job(tree, catalogue());
  } catch (const base::InputError& error) {
    for (const base::Fault& fault : error.faults) told += fault.field == map + ".qqqqqqqqq" ? fault.mend : "";
  }
  const std::string lead = "known keys: ";
  EXPECT_TRUE(told.starts_with(lead)) << map << ": " << told;
  Keys out;
  std::istringstream names(told.substr(std::min(lead.size(), told.size())));
  for (std::string name; names >> name;) {
    if (name.ends_with(',')) name.pop_back();
    out.insert(map + '.' + name);
  }
  return out;
}

Keys known_to_the_readers() {
  const std::string no_key = "{qqqqqqqqq: 1}";
  Keys out = known(job("qqqqqqqqq: 1"), "strategy");
  out.merge(known(job("", ", qqqqqqqqq: 1"), "training"));
  for (const char* map : {"recompute", "fused_kernels", "overlap", "fsdp", "offload", "lora"}) {
    out.erase(std::string("strategy.") + map);
    out.merge(known(job(map + (": " + no_key)), std::string("strategy.") + map));
  }
  for (const char* map : {"packing", "wide_layers"}) {
    out.erase(std::string("training.") + map);
    out.merge(known(job("", std::string(", ") + map + ": " + no_key), std::string("training.") + map));
  }
  return out;
}

/// Of jobs that between them set every key which an exporter has to look at.
Keys told_to_exporters() {
  Keys out;
  for (const config::Value& tree :
       {job("tp: 2, cp: 2, zero: 3, shard: 8, recompute: {kind: full, layers: 2}, fsdp: {limit_all_gathers: 2}, "
            "attention_kernel: fused_softmax, lora: {rank: 16, targets: [qkv]}",
            ", precision: fp8, packing: {mean: 512, deviation: 64}"),
        job("pp: 4, schedule: interleaved, vpp: 2, stage_layers: [5, 3, 4, 4, 4, 4, 4, 4], vocab_parallel: tensor, "
            "fused_kernels: {optimizer: true}",
            ", packing: {lengths: [4096, 4096]}"),
        job("pp: 4, vocab_parallel: pipeline, recompute: {kind: selective, modules: [core_attn]}"),
        job("ep: 8, zero: 1, moe_capacity_factor: 1.25", "", "qwen3-30b-a3b")}) {
    for (const Setting& setting :
         config::launch::job_settings(spec::resolve(config::read_unchecked_job(tree, catalogue()))).all()) {
      out.insert(setting.name);
    }
  }
  return out;
}

// What no exporter has to look at, and why.
const Keys kNotExported{
    "strategy.moe_imbalance",
    "strategy.moe_routing",  // of the data: a note tells them
    "training.data",
    "training.checkpoint",       // of the machine: a note tells them
    "strategy.launch_blocking",  // of the environment: a note tells it
    "training.output_tokens",
    "training.context",
    "training.kv_cache_dtype",  // of modes that no launcher has
};

TEST(JobSettings, HaveEveryKeyThatAJobMayHave) {
  const Keys told = told_to_exporters();
  for (const std::string& key : known_to_the_readers()) {
    EXPECT_NE(told.contains(key), kNotExported.contains(key))
        << key << ": write it in job_settings.cpp, so that exporters say or refuse it, or name it here";
  }
}

}  // namespace
