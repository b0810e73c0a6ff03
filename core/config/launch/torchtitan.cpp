// core/config/launch/torchtitan.cpp -- torchtitan's TOML: batches, data parallelism, pipeline stages and flavors, out
// and in; the rest is workloads/launch/torchtitan.yaml. SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/torchtitan.h"

#include <algorithm>
#include <string>

#include "core/base/text.h"
#include "core/config/launch/framework.h"
#include "core/config/launch/same_shape.h"
#include "core/spec/layer_cuts.h"
#include "core/spec/model_code.h"

namespace config::launch {
namespace {

const std::string kParallel = "parallelism.";

void write_flavor(Export& e) {
  Faults faults;
  std::string known;
  for (const Flavor& one : kFlavors) {
    known += (known.empty() ? "" : ", ") + std::string(one.model);
    const spec::Model model = e.catalogue.model(scalar(one.model), "model", faults);
    if (!faults.empty() || !same_shape(model, e.job.model)) continue;
    e.options.set("model.name", one.name);
    return e.options.set("model.flavor", one.flavor);
  }
  e.refuse("model", base::quoted(e.job.model.name) + ": no flavor of its models has this shape", "known are " + known);
}

void write_batch(Export& e) {
  const spec::Training& t = e.job.training;
  const std::int64_t local = e.job.strategy.pp > 1 ? t.global_batch / e.job.strategy.data() : t.micro_batch;
  for (const char* key : {"training.micro_batch", "training.global_batch"}) e.keys.take(key);
  e.options.set("training.local_batch_size", std::to_string(local));
  e.options.set("training.global_batch_size", std::to_string(t.global_batch));
  if (e.job.strategy.pp > 1)
    e.options.set(kParallel + "pipeline_parallel_microbatch_size", std::to_string(t.micro_batch));
}

/// FSDP shards over dp_shard x cp ranks; without it there is DDP, over nothing else.
void write_replicas(Export& e) {
  const spec::Strategy& s = e.job.strategy;
  for (const char* key : {"strategy.dp", "strategy.zero", "strategy.shard"}) e.keys.take(key);
  const int ranks = s.data() * s.cp, shard = s.zero == 3 ? (s.shard > 0 ? s.shard : ranks) : 1;
  if (s.zero == 1 || s.zero == 2) {
    return e.refuse("strategy.zero",
                    base::quoted(std::to_string(s.zero)) + ": it shards all of the state (FSDP2) or nothing (DDP)",
                    "write strategy.zero: 3 or 0");
  }
  if (s.zero == 3 && ranks == 1)
    return e.refuse("strategy.zero", "'3' on one data-parallel rank: a shard degree of 1 is no FSDP",
                    "write strategy.zero: 0");
  if (s.zero == 0 && ranks > 1 && s.tp * s.pp * s.cp > 1) {
    return e.refuse("strategy.zero", "'0' beside tp, cp or pp: its DDP stands alone", "write strategy.zero: 3");
  }
  if (shard % s.cp != 0)
    return e.refuse("strategy.shard", base::quoted(std::to_string(s.shard)) + ": shards hold whole groups of cp",
                    "write a multiple of cp");
  const int sharded = std::max(1, shard / s.cp);
  e.options.set(kParallel + "data_parallel_replicate_degree", std::to_string(s.data() / sharded));
  e.options.set(kParallel + "data_parallel_shard_degree", std::to_string(sharded));
}

/// "default" lets parameters go behind the forward unless there are pipeline stages.
void write_resharding(Export& e) {
  const spec::Strategy& s = e.job.strategy;
  if (!e.keys.take("strategy.fsdp.reshard") || s.fsdp.reshard == (s.pp == 1)) return;
  e.options.set(kParallel + "fsdp_reshard_after_forward", s.fsdp.reshard ? "always" : "never");
}

void write_stages(Export& e) {
  const spec::Strategy& s = e.job.strategy;
  e.keys.take("strategy.vpp");
  e.keys.take("strategy.stage_layers");
  if (s.pp == 1) return;
  std::vector<int> layers;
  for (const spec::ChunkLayers& chunk : spec::split_layers(e.job.model, s)) layers.push_back(chunk.count);
  e.options.set(kParallel + "module_fqns_per_model_part", model_parts(layers));
}

/// For models and GPUs of 2025 the loss is compiled beside the blocks where the Job says nothing of it.
void write_compiled_loss(Export& e) {
  const std::string loss = "strategy.fused_kernels.cross_entropy";
  if (!e.job.strategy.compile || !has_loss_of_2025(e.job)) return;
  if (e.keys.text(loss) == "true")
    return e.refuse(loss,
                    "'true': kernels are fused by compile alone, and a compiled loss is predicted without this key",
                    "leave it out");
  e.keys.set(loss, "true");
}

void write(Export& e) {
  write_flavor(e);
  write_batch(e);
  write_replicas(e);
  write_compiled_loss(e);
  write_keys(e);
  write_resharding(e);
  write_stages(e);
}

std::string toml_text(const Value& value) {
  if (value.kind == Value::Kind::list) {
    std::string out;
    for (const Value& item : value.items) out += (out.empty() ? "" : ", ") + toml_text(item);
    return '[' + out + ']';
  }
  const bool bare = value.text == "true" || value.text == "false" ||
                    (!value.text.empty() && value.text.find_first_not_of("0123456789.-") == std::string::npos);
  return bare && !value.quoted ? value.text : '"' + value.text + '"';
}

std::vector<File> files(Export& e) {
  e.notes.emplace_back(
      "add what is yours: [training] dataset and steps, [optimizer] lr, [model] hf_assets_path, [checkpoint]");
  std::string text = heading(e, "# ") +
                     folded("# " + torchrun(e.job) + " -m torchtitan.train --job.config_file torchtitan.toml", "#   ") +
                     '\n';
  std::vector<std::string> sections;
  for (const Setting& option : e.options.all()) {
    const std::string section = option.name.substr(0, option.name.rfind('.'));
    if (std::find(sections.begin(), sections.end(), section) == sections.end()) sections.push_back(section);
  }
  for (const std::string& section : sections) {
    text += "\n[" + section + "]\n";
    for (const Setting& option : e.options.all()) {
      const std::size_t dot = option.name.rfind('.');
      if (option.name.substr(0, dot) == section)
        text += option.name.substr(dot + 1) + " = " + toml_text(option.value) + '\n';
    }
  }
  return {{"torchtitan.toml", text}};
}

void read_flavor(Import& i) {
  const Value* flavor = i.options.take("model.flavor");
  const base::Where where = flavor ? flavor->where : base::Where{};
  i.options.take("model.name");
  const std::string name = i.options.text("model.name", "llama3"), of = i.options.text("model.flavor", "debugmodel");
  for (const Flavor& one : kFlavors) {
    if (one.name == name && one.flavor == of) return i.keys.set("model", one.model, where);
  }
  std::vector<std::string> known;
  for (const Flavor& one : kFlavors) {
    if (one.name == name) known.emplace_back(one.flavor);
  }
  i.unknown_model = base::Fault{"model.flavor",
                                base::quoted(of) + " of " + name + " is not in the catalogue" +
                                    (known.empty() ? "" : ": known are " + base::joined(known)),
                                "write one of these, or add --model NAME", where};
  i.notes.push_back("model " + name + " " + of + ": is none of the catalogue, so --model says what it is");
}

struct Degrees {
  std::int64_t tp, cp, pp, shard, replicate;
};

Degrees degrees_of(Import& i) {
  const auto read = [&](const char* name, std::int64_t otherwise, const char* key = "") {
    const std::int64_t written = i.number(kParallel + name).value_or(otherwise);
    return i.given_count(key).value_or(written);
  };
  Degrees d{read("tensor_parallel_degree", 1, "strategy.tp"), read("context_parallel_degree", 1, "strategy.cp"),
            read("pipeline_parallel_degree", 1, "strategy.pp"), read("data_parallel_shard_degree", -1),
            read("data_parallel_replicate_degree", 1)};
  const std::int64_t others = d.tp * d.cp * d.pp * d.replicate;
  if (d.shard == -1 && others > 0) d.shard = i.gpus / others;  // what is left; 0 when the GPUs are not known
  return d;
}

void read_replicas(Import& i, const Degrees& d) {
  const Value* written = i.options.find(kParallel + "data_parallel_shard_degree");
  const base::Where where = written ? written->where : base::Where{};
  if (d.shard < 1) {
    i.faults.push_back({"data_parallel_shard_degree",
                        "takes the GPUs that are left, and how many there are is not known", "add --node and --nodes",
                        where});
    return;
  }
  const bool sharded = d.shard * d.cp > 1;
  i.keys.set("strategy.dp", std::to_string(d.shard * d.replicate), where);
  i.keys.set("strategy.zero", sharded ? "3" : "0", where);
  if (sharded && d.replicate > 1) i.keys.set("strategy.shard", std::to_string(d.shard * d.cp), where);
  const Value* policy = i.options.take(kParallel + "fsdp_reshard_after_forward");
  const std::string text = policy ? text_of(*policy) : "default";
  if (text == "default" || !sharded) return;
  if (text != "always" && text != "never")
    return i.refuse(kParallel + "fsdp_reshard_after_forward", base::quoted(text) + " is no policy",
                    "write default, always or never");
  i.keys.set("strategy.fsdp.reshard", text == "always" ? "true" : "false", policy->where);
}

void read_batch(Import& i, const Degrees& d) {
  const std::int64_t local = i.number("training.local_batch_size").value_or(8);
  const std::int64_t replicas = std::max<std::int64_t>(1, i.given_count("strategy.dp").value_or(d.shard * d.replicate));
  const std::int64_t global = i.number("training.global_batch_size").value_or(-1);
  const std::int64_t step = local * replicas;
  i.keys.set("training.global_batch", std::to_string(global > 0 ? global : step));
  if (d.pp == 1) return i.keys.set("training.micro_batch", std::to_string(local));
  i.keys.set("training.micro_batch",
             std::to_string(i.number(kParallel + "pipeline_parallel_microbatch_size").value_or(1)));
  if (global > 0 && global != step) {
    i.refuse("training.global_batch_size", "is several pipelines of local_batch_size x replicas one after another",
             "write training.local_batch_size = " + std::to_string(global / replicas));
  }
}

void read_stages(Import& i, const Degrees& d) {
  const Value* parts = i.options.take(kParallel + "module_fqns_per_model_part");
  const std::string schedule = i.options.text(kParallel + "pipeline_parallel_schedule", "1F1B");
  for (const char* name : {"pipeline_parallel_layers_per_stage", "pipeline_parallel_first_stage_less_layers",
                           "pipeline_parallel_last_stage_less_layers"}) {
    const Value* value = i.options.take(kParallel + name);
    const bool usual = value && value->text == "1" && !std::string_view(name).ends_with("layers_per_stage");
    if (value && d.pp > 1 && !parts && !usual)
      i.refuse(kParallel + name, "cuts the model by a rule that no Job has", "write module_fqns_per_model_part");
  }
  if (d.pp == 1) return i.options.erase(kParallel + "pipeline_parallel_schedule");  // which it does not read then
  if (!parts) {
    i.notes.emplace_back(
        "module_fqns_per_model_part is missing: layers are spread over the stages, embedding and head as one each");
    if (schedule == "Interleaved1F1B") i.keys.set("strategy.vpp", "2");
    return;
  }
  const std::vector<int> layers = layers_of_parts(*parts);
  if (layers.empty() || static_cast<std::int64_t>(layers.size()) % d.pp != 0) {
    return i.refuse(kParallel + "module_fqns_per_model_part",
                    "are no parts of consecutive layers, pp or a multiple of it",
                    "list tok_embeddings, layers.0, ..., norm, output in order");
  }
  if (schedule == "Interleaved1F1B")
    i.keys.set("strategy.vpp", std::to_string(static_cast<std::int64_t>(layers.size()) / d.pp), parts->where);
  std::vector<std::string> texts;
  for (const int count : layers) texts.push_back(std::to_string(count));
  Value list = list_of(texts);
  list.where = parts->where;
  i.keys.set("strategy.stage_layers", std::move(list));
}

/// Stock files have sections of converters that they do not switch on: those say nothing.
void drop_idle_converters(Import& i) {
  const std::string on = i.options.text("model.converters");
  std::erase_if(i.options.all(), [&](const Setting& option) {
    const std::size_t dot = option.name.rfind('.');
    const bool idle = option.name.starts_with("quantize.") && on.find(option.name.substr(0, dot)) == on.npos;
    i.without_effect += idle;
    return idle;
  });
}

void read(Import& i) {
  drop_idle_converters(i);
  const Degrees d = degrees_of(i);
  read_flavor(i);
  read_replicas(i, d);
  read_batch(i, d);
  read_stages(i, d);
  if (d.tp > 1) i.keys.set("strategy.sp", "true");
  read_keys(i);
}

std::string command(const spec::Job& job, const std::string& file) {
  return torchrun(job) + " -m torchtitan.train --job.config_file " + file + " \"$@\"";
}

}  // namespace

Value model_parts(const std::vector<int>& layers) {
  Value parts = list_of({});
  int layer = 0;
  for (std::size_t p = 0; p < layers.size(); ++p) {
    std::vector<std::string> modules;
    if (p == 0) modules.emplace_back("tok_embeddings");
    for (int i = 0; i < layers[p]; ++i) modules.push_back("layers." + std::to_string(layer++));
    if (p + 1 == layers.size()) modules.insert(modules.end(), {"norm", "output"});
    parts.items.push_back(list_of(modules));
  }
  return parts;
}

std::vector<int> layers_of_parts(const Value& parts) {
  std::vector<int> layers;
  for (const Value& part : parts.items) {
    const auto layer = [](const Value& module) { return module.text.starts_with("layers."); };
    layers.push_back(static_cast<int>(std::count_if(part.items.begin(), part.items.end(), layer)));
  }
  return text_of(model_parts(layers)) == text_of(parts) ? layers : std::vector<int>{};
}

constinit const Framework kTorchtitan{
    "torchtitan",
    nullptr,
    "torchtitan",
    write,
    files,
    command,
    [](const std::string& path, GivenVariables&) { return flattened(load_toml(path)); },
    read};

}  // namespace config::launch
