// core/config/launch/import_job.cpp -- the way in: a framework's options become a Job's tree.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/huggingface.h"
#include "core/config/job_reader.h"
#include "core/config/launch/framework.h"
#include "core/config/launch/job_settings.h"
#include "core/config/launch/known_options.h"
#include "core/config/model_writer.h"
#include "core/config/named_model.h"
#include "core/spec/model_code.h"

namespace config::launch {
namespace {

/// What the flags name of the cluster: its GPUs and what they have; nothing when they do not, or none that there is.
void read_cluster(const Value& tree, Import& i) {
  const Value* cluster = tree.find("cluster");
  const Value* node = cluster ? cluster->find("node") : nullptr;
  if (!node || node->kind == Value::Kind::list) return;
  const std::size_t before = i.faults.size();
  const spec::Node read = i.catalogue.node(*node, "cluster.node", i.faults);
  const auto nodes = base::count_in(flattened(tree).text("cluster.nodes", "1"));
  if (i.faults.size() > before || !nodes) return;
  i.nodes = *nodes;
  i.gpus = read.gpus * i.nodes;
  i.has_cudnn = traits_of(read.gpu.generation).cudnn;
}

/// tp x cp x pp of the flags.
std::int64_t replica_of(const Value& given) {
  std::int64_t out = 1;
  const Settings flags = flattened(given);
  for (const char* axis : {"strategy.tp", "strategy.cp", "strategy.pp"})
    out *= std::max<std::int64_t>(1, base::count_in(flags.text(axis)).value_or(1));
  return out;
}

/// Of a launcher: processes on each node, one for each GPU that is used; 0: not told by a number.
std::int64_t processes_of_a_node(Import& i, std::int64_t nodes) {
  const auto number = [&](const char* option) { return base::count_in(i.options.text(option)).value_or(0); };
  for (const char* option : {"nproc-per-node", "gpus-per-node", "ntasks-per-node"}) {
    if (const std::int64_t count = number(option); count > (option == std::string_view("ntasks-per-node") ? 1 : 0))
      return count;
  }
  const std::int64_t processes = number("num_processes");
  if (processes % nodes == 0) return processes / nodes;
  i.refuse("num_processes", std::to_string(processes) + " do not divide over " + std::to_string(nodes) + " machines",
           "write a multiple of num_machines");
  return 0;
}

/// Fewer processes than GPUs leave GPUs of each node idle; more have none.
void use_part_of_nodes(Import& i, std::int64_t nodes, Value& given) {
  const std::int64_t count = processes_of_a_node(i, std::max<std::int64_t>(1, nodes)),
                     there = i.gpus / std::max<std::int64_t>(1, nodes);
  const Value* cluster = given.find("cluster");
  const Value* node = cluster ? cluster->find("node") : nullptr;
  if (count == 0 || there == 0 || count == there || (node && node->find("gpus"))) return;
  if (count > there) {
    i.faults.push_back(
        {"cluster.node",
         "has " + std::to_string(there) + " GPUs, and each node is to run " + std::to_string(count) + " processes",
         "name a node with as many GPUs",
         {}});
    return;
  }
  set_path(given, "cluster.node.gpus", std::to_string(count), "");
  i.gpus = count * nodes;
  i.notes.push_back(std::to_string(count) + " of the " + std::to_string(there) +
                    " GPUs of a node are used, a process each");
}

std::string settings_text(const spec::Job& job) {
  std::string out;
  for (const Setting& setting : job_settings(job).all()) {
    if (setting.name != "model.name") out += setting.name + '=' + text_of(setting.value) + '\n';
  }
  return out;
}

/// What the framework does unasked is left out where the Job's own default is the same.
void prune(Settings& keys, const Value& given, const Catalogue& catalogue) {
  const auto job_of = [&](const Settings& settings) {
    return settings_text(read_job(merged(nested(settings), given), catalogue));
  };
  const std::string whole = job_of(keys);
  for (std::size_t i = keys.all().size(); i-- > 0;) {
    const Setting& key = keys.all()[i];
    if (!key.value.where.file.empty() || key.name == "model.name" || key.name.starts_with("strategy.framework"))
      continue;
    Settings less = keys;
    less.all().erase(less.all().begin() + static_cast<std::ptrdiff_t>(i));
    try {
      if (job_of(less) == whole) keys = std::move(less);
    } catch (const base::InputError&) {
      // needed
    }
  }
}

/// A loss that is compiled beside the model is one kernel to the Job only where its profile does not compile it
/// unasked.
void drop_compiled_loss(Settings& keys, const Value& given, const Catalogue& catalogue) {
  const std::string loss = "strategy.fused_kernels.cross_entropy";
  if (keys.text("strategy.compile") != "true" || keys.text(loss) != "true") return;
  Settings less = keys;
  less.erase(loss);
  if (has_loss_of_2025(read_job(merged(nested(less), given), catalogue))) keys = std::move(less);
}

/// As one that says all it leaves to defaults, without its name.
spec::Model shape_of(spec::Model model) {
  model.name.clear();
  model.qkv_bias = model.has_qkv_bias();
  model.proj_bias = model.has_proj_bias();
  if (!has_dense_layers(model)) model.ffn = 0;
  if (model.moe && model.moe->shared_experts > 0) model.moe->shared_experts = 1;  // shared_ffn is the width of all
  return model;
}

/// A shape that the catalogue has goes by its name there; beside keys of a model that are given, as their base.
void name_model(Settings& keys, const spec::Model& model, const Value& given, const Catalogue& catalogue) {
  const Value* said = given.find("model");
  const bool base = said && said->kind == Value::Kind::map;
  for (const std::string& name : catalogue.names(Catalogue::Kind::model)) {
    Faults faults;
    spec::Model known = catalogue.model(scalar(name), "model", faults);
    if (model.max_positions == 0 && model.ropes()) known.max_positions = 0;  // not stated, and nothing hangs on it
    if (!faults.empty() || shape_of(model) != shape_of(known)) continue;
    std::erase_if(keys.all(), [](const Setting& key) { return key.name.starts_with("model."); });
    Settings named;
    named.set(base ? "model.base" : "model", name);
    for (Setting& key : keys.all()) named.set(key.name, std::move(key.value));
    keys = std::move(named);
    return;
  }
}

/// The sections in the order of a Job file.
Value in_order(Value tree) {
  const auto rank = [](const std::string& key) {
    return key == "model" ? 0 : key == "cluster" ? 1 : key == "training" ? 2 : 3;
  };
  std::stable_sort(tree.entries.begin(), tree.entries.end(),
                   [&](const auto& a, const auto& b) { return rank(a.first) < rank(b.first); });
  return tree;
}

}  // namespace

Imported import_job(const Framework& framework, const std::string& path, const Value& flags,
                    const std::vector<std::string>& ignored, const Catalogue& on,
                    const std::map<std::string, std::string>& variables) {
  const Catalogue catalogue = on.remembering();
  const Correspondence table = read_correspondence(catalogue, framework.table);
  GivenVariables said{variables, {}};
  Import i{.table = table,
           .catalogue = catalogue,
           .options = framework.parse(path, said),
           .ignored = ignored,
           .given = flattened(flags)};
  i.is_script = said.asked;
  for (const auto& [name, value] : variables) {
    if (said.read.contains(name)) continue;
    i.faults.push_back({"--variable",
                        "nothing in " + path + " reads a variable " + base::quoted(name) + " that it does not set",
                        "leave it out",
                        {}});
  }
  Value cluster = flags;
  unify(i);
  for (const char* option : {"nnodes", "num_machines"}) {
    const Value* nodes = i.options.find(option);
    if (nodes && !flattened(flags).has("cluster.nodes")) set_path(cluster, "cluster.nodes", nodes->text, path);
  }
  read_cluster(cluster, i);
  i.ranks_of_a_replica = replica_of(flags);
  Value given = flags;
  if (i.gpus > 0) use_part_of_nodes(i, i.nodes, given);
  framework.read(i);
  refuse_strange(i, path);
  account_for_rest(i);
  if (i.unknown_model && !given.find("model")) i.faults.push_back(*i.unknown_model);
  if (!i.faults.empty()) throw base::InputError(std::move(i.faults));
  const bool changed = i.keys.has("strategy.framework.vocab_multiple");
  i.keys.set(changed ? "strategy.framework.base" : "strategy.framework", table.profile);
  if (changed && i.given.has("strategy.framework"))  // a name, which would take the place of the map
    set_path(given, "strategy.framework.base", i.given.text("strategy.framework"), path);
  // A model that is given replaces the file's.
  if (const Value* model = given.find("model"); model && model->kind != Value::Kind::map) {
    std::erase_if(i.keys.all(),
                  [](const Setting& key) { return key.name == "model" || key.name.starts_with("model."); });
  }
  drop_compiled_loss(i.keys, given, catalogue);
  prune(i.keys, given, catalogue);
  if (i.keys.has("model.layers"))
    name_model(i.keys, read_job(merged(nested(i.keys), given), catalogue).model, given, catalogue);
  Imported out{in_order(merged(nested(i.keys), given)), std::move(i.notes)};
  if (i.without_effect > 0)
    out.remarks.push_back("options without effect on time and memory: " + std::to_string(i.without_effect));
  if (!i.left_out.empty()) out.remarks.push_back("ignored because --ignore says so: " + base::joined(i.left_out));
  return out;
}

Imported import_model(const std::string& path, const Value& given, const Catalogue& catalogue) {
  const Value config = load(path);
  if (!is_huggingface(config)) {
    throw base::InputError(
        {{"FILE", "has neither model_type nor architectures", "name a Hugging Face config.json", config.where}});
  }
  Faults faults;
  const spec::Model model = read_huggingface(config, "imported", faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  Settings keys;
  for (Setting& key : flattened(model_tree(model)).all()) keys.set("model." + key.name, std::move(key.value));
  name_model(keys, model, given, catalogue);
  Imported out{in_order(merged(nested(keys), given)), {}};
  read_job(out.tree, catalogue);
  return out;
}

}  // namespace config::launch
