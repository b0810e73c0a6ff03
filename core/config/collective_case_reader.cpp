// SPDX-License-Identifier: Apache-2.0
#include "core/config/collective_case_reader.h"

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/map_reader.h"
#include "core/spec/ranges.h"

namespace config {
namespace {

/// Numbers above zero without units.
std::vector<double> read_numbers(MapReader& map, const char* key, Faults& faults) {
  std::vector<double> out;
  const Value* list = map.child(key);
  if (!list || list->kind != Value::Kind::list) {
    map.fault(key, "is no list of numbers", std::string("write ") + key + ": [1024, 2048]");
    return out;
  }
  for (const Value& item : list->items) {
    const double number = base::number_in<double>(item.text).value_or(0);
    if (!(number > 0 && number <= 1e15)) {
      faults.push_back(
          {map.path_of(key), base::quoted(item.text) + " is no number above zero", "write one", item.where});
    }
    out.push_back(number);
  }
  return out;
}

CollectiveSweep read_sweep(const Value& value, const std::string& path, const Catalogue& catalogue, Faults& faults) {
  CollectiveSweep sweep;
  MapReader map(value, path, faults);
  map.require("op", sweep.op);
  sweep.cluster = read_measured_cluster(map, catalogue, faults);
  sweep.gpus = sweep.cluster.node.gpus;
  map.read("gpus", sweep.gpus, 1, std::max(1, sweep.cluster.node.gpus));
  map.read("algorithm", sweep.algorithm);
  map.ignore("in_place");
  for (const double bytes : read_numbers(map, "bytes", faults)) sweep.bytes.push_back(static_cast<std::int64_t>(bytes));
  for (const double us : read_numbers(map, "us", faults)) sweep.times.push_back(base::us(us));
  if (sweep.bytes.size() != sweep.times.size()) {
    map.fault("us", "has not as many entries as bytes", "write one time for each size");
  }
  if (sweep.cluster.nodes > 1 && sweep.cluster.node.gpus % sweep.gpus != 0) {
    map.fault("gpus", "does not divide the node's GPUs", "write a divisor");
  }
  map.finish();
  return sweep;
}

}  // namespace

spec::Cluster read_measured_cluster(MapReader& map, const Catalogue& catalogue, Faults& faults) {
  spec::Cluster cluster;
  map.read("nodes", cluster.nodes, 1, spec::kMostNodes);
  const Value* fabric = map.child("fabric");
  const Value* node = map.child("node");
  if (!node) {
    map.fault("node", "is missing", "add `node:` with a name, a path or a map");
    return cluster;
  }
  const Value tree = catalogue.expanded(Catalogue::Kind::node, *node, map.path_of("node"), faults);
  if (tree.kind == Value::Kind::null) return cluster;
  cluster.node = catalogue.node(tree, map.path_of("node"), faults);
  if (!fabric) fabric = tree.find("fabric");
  if (fabric && fabric->kind != Value::Kind::null) {
    cluster.fabric = catalogue.fabric(*fabric, map.path_of("fabric"), faults);
  } else if (cluster.nodes > 1) {
    map.fault("fabric", "is missing, and the node has no fabric of its own", "add `fabric:`");
  }
  spec::assemble(cluster);
  return cluster;
}

std::vector<CollectiveSweep> read_collective_cases(const std::string& path, const Catalogue& catalogue) {
  Faults faults;
  std::vector<CollectiveSweep> sweeps;
  const Value tree = load(path);
  MapReader map(tree, "", faults);
  map.ignore("source");
  const Value* groups = map.child("groups");
  if (!groups || groups->kind != Value::Kind::list) {
    map.fault("groups", "is no list", "write groups: [{op: all_reduce, node: dgx-h100, bytes: [...], us: [...]}]");
  } else {
    for (const Value& one : groups->items) {
      sweeps.push_back(read_sweep(one, "groups[" + std::to_string(sweeps.size()) + "]", catalogue, faults));
    }
  }
  map.finish();
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return sweeps;
}

}  // namespace config
