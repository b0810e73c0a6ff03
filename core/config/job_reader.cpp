// SPDX-License-Identifier: Apache-2.0
#include "core/config/job_reader.h"

#include "core/config/names.h"
#include "core/config/simulation_reader.h"
#include "core/config/strategy_reader.h"
#include "core/spec/mixed_cluster.h"

namespace config {
namespace {

/// {mean: 2048, deviation: 1024} or {lengths: [4096, 1024]}, in tokens
spec::Packing read_packing(const Value& value, const std::string& path, Faults& faults) {
  constexpr std::int64_t longest = 100'000'000;
  spec::Packing packing;
  MapReader map(value, path, faults);
  std::vector<int> lengths;
  const bool listed = map.read("lengths", lengths, 1, longest);
  packing.lengths.assign(lengths.begin(), lengths.end());
  if (!listed) map.require("mean", packing.mean, 1, longest);
  if (map.read("deviation", packing.deviation, 0, longest) && listed) {
    map.fault("deviation", "belongs to mean", "leave it out, or write mean in place of lengths");
  }
  map.finish();
  return packing;
}

void read_storage(MapReader& training, spec::Training& t, Faults& faults) {
  if (const Value* value = training.child("data")) {
    MapReader map(*value, training.path_of("data"), faults);
    spec::InputData& data = t.data.emplace();
    base::Bytes bytes;
    if (map.read("bytes_per_token", bytes)) data.bytes_per_token = bytes;
    if (map.read("bytes_per_sample", bytes)) data.bytes_per_sample = bytes;
    map.require("bandwidth", data.bandwidth);
    map.read("prefetch", data.prefetch);
    map.finish();
  }
  if (const Value* value = training.child("checkpoint")) {
    MapReader map(*value, training.path_of("checkpoint"), faults);
    spec::Checkpoint& checkpoint = t.checkpoint.emplace();
    map.require("every", checkpoint.every, 1, 1'000'000'000);
    map.read("to", checkpoint.shared, {{"nvme", false}, {"shared", true}});
    base::ByteRate bandwidth;
    if (map.read("bandwidth", bandwidth)) checkpoint.bandwidth = bandwidth;
    map.read("async", checkpoint.async);
    map.finish();
  }
}

spec::Training read_training(const Value& value, bool has_tokens, Faults& faults) {
  using M = spec::Mode;
  using O = spec::Optimizer;
  spec::Training t;
  MapReader map(value, "training", faults);
  map.read("mode", t.mode, {{"train", M::train}, {"prefill", M::prefill}, {"decode", M::decode}});
  if (has_tokens) {
    map.require("sequence", t.sequence, 1, 100'000'000);
  } else {
    map.read("sequence", t.sequence, 1, 100'000'000);
  }
  map.require("global_batch", t.global_batch, 1, 10'000'000);
  map.read("micro_batch", t.micro_batch, 1, 10'000'000);
  map.read("precision", t.precision, kDtypes);
  enum class Recipe { tensorwise, rowwise, blockwise, delayed } recipe{};
  if (map.read("fp8_recipe", recipe,
               {{"tensorwise", Recipe::tensorwise},
                {"rowwise", Recipe::rowwise},
                {"blockwise", Recipe::blockwise},
                {"delayed", Recipe::delayed}})) {
    map.read("fp8_recipe", t.fp8_recipe);
  }
  if (const Value* wide = map.child("wide_layers")) {
    MapReader part(*wide, map.path_of("wide_layers"), faults);
    part.read("first", t.wide_layers.first, 0, 1'000'000);
    part.read("last", t.wide_layers.last, 0, 1'000'000);
    part.finish();
  }
  map.read("fp8_parameters", t.fp8_parameters);
  map.read("fp8_activation_inputs", t.fp8_activation_inputs);
  map.read("optimizer", t.optimizer, {{"adamw", O::adamw}, {"sgd", O::sgd}, {"adamw8bit", O::adamw8bit}});
  map.read("moments_dtype", t.moments_dtype,
           {{"fp32", spec::Dtype::fp32}, {"bf16", spec::Dtype::bf16}, {"fp16", spec::Dtype::fp16}});
  map.read("master_weights", t.master_weights);
  map.read("gradient_dtype", t.gradient_dtype,
           {{"fp32", spec::Dtype::fp32}, {"bf16", spec::Dtype::bf16}, {"fp16", spec::Dtype::fp16}});
  if (const Value* packing = map.child("packing")) t.packing = read_packing(*packing, map.path_of("packing"), faults);
  double dropout = 0;
  if (map.read("dropout", dropout, 0, 1)) {
    if (dropout == 1) map.fault("dropout", "1 drops everything", "write a number from 0 to below 1");
    t.dropout = dropout;
  }
  read_storage(map, t, faults);
  map.read("output_tokens", t.output_tokens, 1, 100'000'000);
  std::int64_t context = 0;
  if (map.read("context", context, 1, 100'000'000)) t.context = context;
  map.read("kv_cache_dtype", t.kv_cache_dtype,
           {{"fp32", spec::Dtype::fp32},
            {"bf16", spec::Dtype::bf16},
            {"fp16", spec::Dtype::fp16},
            {"fp8", spec::Dtype::fp8}});
  map.finish();
  return t;
}

constexpr std::int64_t kMostNodes = 1'000'000;

/// Groups of nodes of different kinds. Returns the map of the first, whose own fabric joins them when none is named.
Value read_groups(const Value& list, const Catalogue& catalogue, spec::Cluster& cluster, Faults& faults) {
  Value first;
  cluster.nodes = 0;
  for (std::size_t g = 0; g < list.items.size(); ++g) {
    const std::string path = "cluster.node[" + std::to_string(g) + "]";
    MapReader map(list.items[g], path, faults);
    spec::NodeGroup group;
    map.read("nodes", group.nodes, 1, kMostNodes);
    if (const Value* node = map.child("node")) {
      Value tree = catalogue.expanded(Catalogue::Kind::node, *node, path + ".node", faults);
      if (tree.kind != Value::Kind::null) group.node = catalogue.node(tree, path + ".node", faults);
      if (g == 0) first = std::move(tree);
    } else if (list.items[g].kind == Value::Kind::map) {
      map.fault("node", "is missing", "write {node: dgx-h100, nodes: 4} for each kind of node");
    }
    map.finish();
    cluster.nodes += group.nodes;
    cluster.groups.push_back(std::move(group));
  }
  if (cluster.groups.empty()) {
    faults.push_back({"cluster.node", "is an empty list", "name a node, or groups of {node, nodes}", list.where});
  } else {
    cluster.node = cluster.groups[spec::least_able(cluster)].node;
    if (cluster.groups.size() == 1) cluster.groups.clear();
  }
  return first;
}

void read_cluster(const Value& value, const Catalogue& catalogue, spec::Job& job, Faults& faults) {
  MapReader map(value, "cluster", faults);
  const Value* fabric = map.child("fabric");
  const Value* node = map.child("node");
  const bool mixed = node && node->kind == Value::Kind::list;
  if (mixed && map.has("nodes")) {
    map.fault("nodes", "is counted by the groups of a mixed cluster", "write nodes: inside each group of cluster.node");
  } else {
    map.read("nodes", job.cluster.nodes, 1, kMostNodes);
  }
  Value tree;
  if (mixed) {
    tree = read_groups(*node, catalogue, job.cluster, faults);
  } else if (node) {
    tree = catalogue.expanded(Catalogue::Kind::node, *node, "cluster.node", faults);
    if (tree.kind != Value::Kind::null) job.cluster.node = catalogue.node(tree, "cluster.node", faults);
  } else if (value.kind == Value::Kind::map || value.kind == Value::Kind::null) {
    map.fault("node", "is missing", "add `node:` with a name, a path or a map; `forerun list nodes` shows the names");
  }
  if (!fabric && job.cluster.mixed()) {
    map.fault("fabric", "is missing, and each kind of node has its own",
              "add `fabric:` with a name or a map; `forerun list fabrics` shows the names");
  }
  if (!fabric) fabric = tree.find("fabric");
  if (fabric && fabric->kind != Value::Kind::null) {
    job.cluster.fabric = catalogue.fabric(*fabric, "cluster.fabric", faults);
  } else if (job.cluster.nodes > 1 && tree.kind != Value::Kind::null) {
    map.fault("fabric", "is missing, and the node has no fabric of its own",
              "add `fabric:` with a name or a map; `forerun list fabrics` shows the names");
  }
  map.read("hosts", job.cluster.hosts, 0, kMostNodes);
  spec::plug_in(job.cluster);
  map.finish();
}

void read_network(const Value& value, spec::Network& network, Faults& faults) {
  MapReader map(value, "network", faults);
  enum class Known { a, b, c, d, e } known{};
  if (map.read("fidelity", known, {{"closed_form", Known::a}, {"flow", Known::b}, {"coupled", Known::c}})) {
    map.read("fidelity", network.fidelity);
  }
  map.read("algorithm", network.algorithm, kAlgorithms);
  map.finish();
}

void add_placed(const Value& tree, std::vector<base::Fault> found, Faults& faults) {
  for (base::Fault& fault : found) {
    fault.where = place_of(tree, fault.field);
    faults.push_back(std::move(fault));
  }
}

spec::Job read_sections(const Value& tree, const Catalogue& catalogue, Faults& faults) {
  spec::Job job;
  Value nothing;
  nothing.where = tree.where;
  MapReader map(tree, "", faults);
  const auto section = [&](const char* key) {
    const Value* value = map.child(key);
    return value ? value : &nothing;
  };
  if (const Value* model = map.child("model")) {
    job.model = catalogue.model(*model, "model", faults);
  } else if (tree.kind == Value::Kind::map) {
    map.fault("model", "is missing",
              "add `model:` with a name, a path or a map; `forerun list models` shows the names");
  }
  if (tree.kind == Value::Kind::map) {
    read_cluster(*section("cluster"), catalogue, job, faults);
    job.training = read_training(*section("training"), !job.model.is_list(), faults);
  }
  const Value* strategy = section("strategy");
  job.strategy = read_strategy(*strategy, faults);
  Value usual = *strategy;
  usual.kind = Value::Kind::scalar;
  usual.text = job.strategy.framework;
  const Value* framework = strategy->find("framework");
  if (!framework || framework->kind == Value::Kind::null) framework = &usual;
  job.framework = catalogue.framework(*framework, "strategy.framework", faults);
  job.strategy.framework = job.framework.name;
  job.uncertainty = catalogue.uncertainty(faults);
  read_network(*section("network"), job.network, faults);
  read_simulation(*section("simulation"), job.simulation, faults);
  map.finish();
  return job;
}

}  // namespace

base::Where place_of(const Value& tree, std::string_view field) {
  const Value* at = &tree;
  while (!field.empty()) {
    const std::size_t dot = field.find('.');
    const Value* next = at->find(field.substr(0, dot));
    if (!next) break;
    at = next;
    field = dot == std::string_view::npos ? std::string_view() : field.substr(dot + 1);
  }
  return at->where;
}

spec::Job read_job(const Value& written, const Catalogue& catalogue) {
  Faults faults;
  const Value* defaults = catalogue.job_defaults();
  const Value tree = defaults ? merged(*defaults, written) : written;
  spec::Job job = read_sections(tree, catalogue, faults);
  // Half-read fields would raise faults of their own in check(); what is unsupported can be told all the same.
  add_placed(tree, faults.empty() ? spec::check(job) : spec::unsupported(job), faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return spec::resolve(std::move(job));
}

spec::Job read_unchecked_job(const Value& tree, const Catalogue& catalogue) {
  Faults faults;
  spec::Job job = read_sections(tree, catalogue, faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return job;
}

}  // namespace config
