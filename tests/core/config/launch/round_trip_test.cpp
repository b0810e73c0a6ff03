// tests/core/config/launch/round_trip_test.cpp -- Job, export, import: the same Job, for random jobs that both sides
// can say. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "core/config/job_reader.h"
#include "core/config/launch/framework.h"
#include "core/config/launch/job_settings.h"

namespace {

using config::Value;
using namespace config::launch;

struct Case {
  const char* framework;
  std::vector<std::pair<const char*, std::vector<const char*>>> options;  // Job keys and their values
  std::vector<const char*> script;                                        // keys that flags give again
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.framework; }

constexpr int kJobs = 40;
const std::vector<const char*> kDegrees{"1", "2", "4"};
const std::vector<const char*> kFlags{"true", "false"};

std::vector<Case> cases() {
  return {
      {"megatron",
       {{"model",
         {"llama3-8b", "gpt2-xl", "qwen3-30b-a3b", "qwen3-8b", "deepseek-v2", "deepseek-v3.2", "nemotron-4-15b",
          "smollm3-3b"}},
        {"strategy.tp", kDegrees},
        {"strategy.sp", kFlags},
        {"strategy.pp", kDegrees},
        {"strategy.cp", {"1", "2"}},
        {"strategy.cp_kind", {"ring", "all_gather", "ulysses"}},
        {"strategy.zero", {"0", "1", "2", "3"}},
        {"strategy.ep", kDegrees},
        {"strategy.etp", {"1", "2"}},
        {"strategy.vpp", {"2", "4"}},
        {"strategy.schedule", {"1f1b", "interleaved", "interleaved"}},
        {"strategy.recompute",
         {"none", "selective", "full", "{kind: full, layers: 2}",
          "{kind: selective, modules: [core_attn, layernorm]}"}},
        {"strategy.attention_kernel", {"flash2", "cudnn", "fused_softmax"}},
        {"strategy.moe_dispatcher", {"alltoall", "allgather", "deepep"}},
        {"strategy.moe_capacity_factor", {"1.0", "1.25"}},
        {"strategy.moe_pad_to_capacity", kFlags},
        {"strategy.shard", {"2", "4"}},
        {"strategy.overlap", {"{grad_reduce: false, param_gather: false}", "{tp: userbuffers}", "{tp: none}"}},
        {"strategy.fused_kernels",
         {"{rope: false}", "{activation: false}", "{grad_accumulation: false, cross_entropy: true}", "{permute: false}",
          "{experts: true}"}},
        {"strategy.cuda_graphs", {"false", "true", "beside_experts"}},
        {"strategy.embedding_in_split", kFlags},
        {"training.micro_batch", {"1", "2"}},
        {"training.precision", {"bf16", "fp16", "fp32", "fp8", "mxfp8"}},
        {"training.fp8_recipe", {"delayed", "tensorwise", "blockwise"}},
        {"training.fp8_parameters", kFlags},
        {"training.wide_layers", {"{first: 1, last: 2}"}},
        {"training.moments_dtype", {"bf16", "fp32"}},
        {"training.gradient_dtype", {"bf16", "fp16", "fp32"}},
        {"training.dropout", {"0.0", "0.1"}},
        {"training.optimizer", {"sgd"}}},
       {}},
      {"torchtitan",
       {{"model", {"llama3.1-8b", "qwen3-8b", "qwen3-30b-a3b"}},
        {"strategy.tp", kDegrees},
        {"strategy.sp", {"true"}},
        {"strategy.pp", kDegrees},
        {"strategy.cp", {"1", "2"}},
        {"strategy.zero", {"3", "3", "0"}},
        {"strategy.shard", {"4", "8"}},
        {"strategy.ep", kDegrees},
        {"strategy.schedule", {"1f1b", "gpipe", "interleaved", "zb-v"}},
        {"strategy.vpp", {"2", "4"}},
        {"strategy.recompute", {"none", "full", "selective_ops"}},
        {"strategy.compile", kFlags},
        {"strategy.fused_kernels", {"{cross_entropy: true}"}},
        {"strategy.overlap", {"{tp: chunked}"}},
        {"strategy.offload", {"{optimizer: cpu, parameters: cpu}"}},
        {"strategy.fsdp",
         {"{reshard: false}", "{reshard: true}", "{prefetch: 1}", "{reshard: false, sync_each_microbatch: false}"}},
        {"training.precision", {"bf16", "fp32", "fp8"}},
        {"training.fp8_recipe", {"tensorwise", "rowwise"}},
        {"training.fp8_parameters", kFlags},
        {"training.micro_batch", {"1", "2"}}},
       {}},
      {"deepspeed",
       {{"model", {"llama3-8b", "gpt2-xl"}},
        {"strategy.tp", kDegrees},
        {"strategy.zero", {"0", "1", "2", "3"}},
        {"strategy.shard", {"4", "8"}},
        {"strategy.overlap", {"{grad_reduce: true}", "{grad_reduce: false}"}},
        {"strategy.offload", {"{optimizer: cpu}", "{optimizer: nvme, parameters: cpu}"}},
        {"training.precision", {"bf16", "fp16", "fp32"}},
        {"training.gradient_dtype", {"bf16", "fp16", "fp32"}},
        {"training.optimizer", {"adamw", "sgd"}},
        {"training.micro_batch", {"1", "2", "4"}}},
       {"model", "training.sequence"}},
      {"maxtext",
       {{"model",
         {"llama3-8b", "mixtral-8x7b", "qwen3-8b", "{base: llama3-8b, layers: 4, tied_embeddings: true}",
          "{base: mixtral-8x7b, layers: 4, vocab: 32768}"}},
        {"strategy.tp", kDegrees},
        {"strategy.sp", {"true"}},
        {"strategy.cp", {"1", "2"}},
        {"strategy.cp_kind", {"ring", "all_gather"}},
        {"strategy.zero", {"0", "1", "3", "3"}},
        {"strategy.shard", {"4", "8"}},
        {"strategy.ep", kDegrees},
        {"strategy.moe_capacity_factor", {"1.0", "1.25"}},
        {"strategy.recompute",
         {"none", "selective", "full", "{kind: selective, modules: [layernorm, mlp]}",
          "{kind: selective, modules: [core_attn, layernorm, mlp]}"}},
        {"strategy.attention_kernel", {"cudnn", "unfused"}},
        {"training.micro_batch", {"1", "2", "4"}},
        {"training.precision", {"bf16", "fp32", "fp8"}},
        {"training.fp8_recipe", {"delayed", "tensorwise"}},
        {"training.global_batch", {"16", "64"}},
        {"training.master_weights", kFlags},
        {"training.moments_dtype", {"bf16", "fp32"}},
        {"training.optimizer", {"adamw", "sgd"}}},
       {}},
      {"accelerate-fsdp",
       {{"model", {"llama3-8b", "gpt2-xl"}},
        {"strategy.zero", {"3"}},
        {"strategy.shard", {"4", "8"}},
        {"strategy.recompute", {"none", "full"}},
        {"strategy.fsdp", {"{reshard: false}", "{reshard: true}", "{prefetch: 1}"}},
        {"strategy.framework", {"transformers"}},
        {"strategy.offload", {"{optimizer: cpu, parameters: cpu}"}},
        {"strategy.compile", kFlags},
        {"training.precision", {"bf16", "fp16", "fp32"}},
        {"training.micro_batch", {"1", "2"}}},
       {"model", "training.sequence", "training.global_batch", "training.micro_batch", "strategy.framework"}},
  };
}

std::string settings_text(const spec::Job& job) {
  std::string out;
  for (const Setting& setting : job_settings(job).all()) {
    if (setting.name != "model.name") out += setting.name + '=' + text_of(setting.value) + '\n';
  }
  return out + "fp32 tensors of the loss=" + (job.framework.separate_loss ? "true" : "false") + '\n';
}

class RoundTrip : public testing::TestWithParam<Case> {
 protected:
  /// Each option is drawn with an even chance, so that jobs say little and much.
  Value random_job() {
    Value tree;
    tree.kind = Value::Kind::map;
    const auto set = [&](const char* key, const std::string& value) { config::set_path(tree, key, value, "test"); };
    set("model", GetParam().options.front().second.front());
    set("cluster.node", "dgx-h100");
    set("cluster.nodes", "2");
    set("training.sequence", "1024");
    set("training.global_batch", "64");
    set("strategy.framework", profile_);
    for (const auto& [key, values] : GetParam().options) {
      const bool wanted = draw_() % 2 == 0 || std::string_view(key) == "strategy.zero";
      const char* value = values[draw_() % values.size()];
      if (wanted) set(key, value);
    }
    return tree;
  }
  bool sound(const Value& tree) {
    try {
      config::read_job(tree, catalogue_);
      return true;
    } catch (const base::InputError&) {
      return false;
    }
  }

  /// What the user gives beside the file.
  Value given(const Value& job) {
    Value out;
    out.kind = Value::Kind::map;
    config::set_path(out, "cluster.node", "dgx-h100", "--node");
    config::set_path(out, "cluster.nodes", "2", "--nodes");
    const Settings keys = flattened(job);
    for (const char* key : GetParam().script) {
      if (keys.has(key)) config::set_path(out, key, keys.text(key), "flag");
    }
    return out;
  }

  config::Catalogue catalogue_ = config::Catalogue(FORERUN_SOURCE_DIR).remembering();
  std::string profile_ = read_correspondence(catalogue_, framework_named(GetParam().framework)->table).profile;
  std::mt19937 draw_{7};
};

TEST_P(RoundTrip, AnExportedJobComesBackTheSame) {
  const Framework& framework = *framework_named(GetParam().framework);
  const std::string folder =
      testing::TempDir() + "forerun-round-trip-" + GetParam().framework + "-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  int same = 0;
  for (int i = 0; i < 3000 && same < kJobs; ++i) {
    const Value tree = random_job();
    if (!sound(tree)) continue;
    Launch launch;
    try {
      launch = export_job(tree, catalogue_, framework.name);
    } catch (const base::InputError&) {
      continue;  // nothing that the framework can say
    }
    const std::string file = folder + '/' + launch.files.front().name;
    std::ofstream(file) << launch.files.front().text;
    Imported back;
    try {
      back = import_job(framework, file, given(tree), {}, catalogue_);
    } catch (const base::InputError& error) {
      FAIL() << error.what() << '\n' << launch.files.front().text;
    }
    EXPECT_EQ(settings_text(config::read_job(back.tree, catalogue_)), settings_text(config::read_job(tree, catalogue_)))
        << launch.files.front().text;
    if (HasFailure()) break;
    ++same;
  }
  std::filesystem::remove_all(folder);
  EXPECT_EQ(same, kJobs);
}

INSTANTIATE_TEST_SUITE_P(Frameworks, RoundTrip, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.framework;
  std::erase(name, '-');
  return name;
});

}  // namespace
