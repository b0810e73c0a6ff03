// core/config/launch/deepspeed.cpp -- DeepSpeed's JSON: the three batch sizes, of which two settle the third, and what
// its trainers set by themselves ("auto"). SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/text.h"
#include "core/config/launch/framework.h"

namespace config::launch {
namespace {

void write(Export& e) {
  const spec::Strategy& s = e.job.strategy;
  if (s.zero == 3 && s.tp > 1)
    e.refuse("strategy.tp", base::quoted(std::to_string(s.tp)) + " beside zero 3: AutoTP trains under zero 0 to 2",
             "write strategy.tp: 1, or strategy.zero: 2");
  if (e.keys.has("strategy.shard") && s.zero < 3)
    e.refuse("strategy.shard", base::quoted(std::to_string(s.shard)) + " below zero 3, which alone has groups (MiCS)",
             "write strategy.zero: 3, or leave shard out");
  write_keys(e);
  e.options.set("gradient_accumulation_steps", std::to_string(spec::microbatches(e.job)));
}

nlohmann::ordered_json json_of(const Value& value) {
  if (value.kind == Value::Kind::map) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    for (const auto& [key, entry] : value.entries) out[key] = json_of(entry);
    return out;
  }
  const auto parsed = nlohmann::ordered_json::parse(value.text, nullptr, false);
  return parsed.is_number() || parsed.is_boolean() ? parsed : nlohmann::ordered_json(value.text);
}

std::vector<File> files(Export& e) {
  e.notes.push_back("start the training script with " + torchrun(e.job) +
                    " TRAIN.py --deepspeed --deepspeed_config ds_config.json");
  return {{"ds_config.json", json_of(nested(e.options)).dump(2) + '\n'}};
}

/// What Hugging Face's trainer fills in is the flags' to say. Silence would be fp32, so an automatic precision that no
/// other settles is the Job's default.
void drop_automatic(Import& i) {
  const auto says = [&](const char* option, const char* text) { return i.options.text(option) == text; };
  const bool automatic = says("bf16.enabled", "auto") || says("fp16.enabled", "auto");
  const bool settled = says("bf16.enabled", "true") || says("fp16.enabled", "true");
  if (automatic && !settled) i.keys.set("training.precision", std::string(spec::name(spec::Training{}.precision)));
  std::string names;
  for (const Setting& option : i.options.all()) {
    if (option.value.text == "auto") names += (names.empty() ? "" : ", ") + option.name;
  }
  std::erase_if(i.options.all(), [](const Setting& option) { return option.value.text == "auto"; });
  if (automatic && !settled) i.options.set("bf16.enabled", "true");
  if (!names.empty()) i.notes.push_back("auto, so by the flags or the Job's defaults: " + names);
}

void read_batch(Import& i) {
  const auto all = i.number("train_batch_size"), micro = i.number("train_micro_batch_size_per_gpu"),
             steps = i.number("gradient_accumulation_steps");
  const std::int64_t tp = std::max<std::int64_t>(1, i.number("tensor_parallel.autotp_size").value_or(1));
  const std::int64_t replicas = i.gpus / std::max(i.ranks_of_a_replica, tp);
  const std::int64_t sequences = micro.value_or(0) * steps.value_or(0);  // of a replica
  if (all && sequences > 0) {
    if (*all % sequences != 0)
      return i.refuse("train_batch_size", "is no multiple of micro batch x accumulation steps",
                      "mend one of the three");
    if (replicas > 0 && *all / sequences != replicas) {  // which DeepSpeed itself refuses
      return i.refuse("train_batch_size",
                      std::to_string(*all) + " is not micro batch " + std::to_string(*micro) + " x " +
                          std::to_string(*steps) + " accumulation steps x " + std::to_string(replicas) + " replicas",
                      "write " + std::to_string(sequences * replicas) +
                          ", mend one of the three, or name a cluster of " + std::to_string(*all / sequences) +
                          " replicas");
    }
    i.keys.set("strategy.dp", std::to_string(*all / sequences), i.options.find("gradient_accumulation_steps")->where);
  } else if (!all && micro && replicas > 0) {
    i.keys.set("training.global_batch", std::to_string(*micro * steps.value_or(1) * replicas));
  } else if (all && !micro && replicas > 0) {
    const std::int64_t parts = steps.value_or(1) * replicas;
    if (parts < 1 || *all % parts != 0) {
      return i.refuse("train_batch_size",
                      "is no multiple of " + std::to_string(steps.value_or(1)) + " accumulation steps x " +
                          std::to_string(replicas) + " replicas",
                      "mend one of them");
    }
    i.keys.set("training.micro_batch", std::to_string(*all / parts));
  }
}

void read(Import& i) {
  drop_automatic(i);
  read_batch(i);
  read_keys(i);
}

std::string command(const spec::Job& job, const std::string& file) {
  return torchrun(job) + " \"${TRAIN:?names the training script}\" --deepspeed --deepspeed_config " + file + " \"$@\"";
}

}  // namespace

constinit const Framework kDeepspeed{"deepspeed",
                                     nullptr,
                                     "deepspeed",
                                     write,
                                     files,
                                     command,
                                     [](const std::string& path, GivenVariables&) { return flattened(load(path)); },
                                     read};

}  // namespace config::launch
