// SPDX-License-Identifier: Apache-2.0
#include "cli/collective_cluster.h"

#include <cstdint>

#include "cli/number.h"
#include "core/base/text.h"
#include "core/spec/ranges.h"

namespace cli {
namespace {

using config::Catalogue;
using config::Value;

Value word(const std::string& text, const std::string& option) { return config::scalar(text, {option, 0, 0}); }

}  // namespace

std::vector<Option> cluster_options() {
  return {{"--node", "NODE", "a node of the catalogue, or the path of one", false, "<nodes> <files>"},
          {"--nodes", "N", "how many of them; 1 unless given"},
          {"--gpus", "N", "GPUs of each node that take part; all unless given"},
          {"--fabric", "FABRIC", "how the nodes are joined; the node's own unless given", false, "<fabrics> <files>"}};
}

std::optional<int> count_of(const Arguments& args, const std::string& option, int otherwise,
                            std::vector<base::Fault>& faults) {
  if (!args.has(option)) return otherwise;
  const std::string text = args.get(option);
  if (const auto count = number_in<int>(text, 1, spec::kMostNodes)) return count;
  faults.push_back({option,
                    base::quoted(text) + " is no whole number from 1 to " + std::to_string(spec::kMostNodes),
                    "write a number, such as 4",
                    {}});
  return std::nullopt;
}

std::optional<spec::Fabric> fabric_from(const Arguments& args, const Value& node, const Catalogue& catalogue,
                                        std::vector<base::Fault>& faults) {
  const Value* own = node.find("fabric");
  const Value given = args.has("--fabric") ? word(args.get("--fabric"), "--fabric") : own ? *own : Value();
  if (given.kind == Value::Kind::null) return std::nullopt;
  return catalogue.fabric(given, "fabric", faults);
}

CollectiveCluster cluster_from(const Arguments& args, const Catalogue& catalogue, std::vector<base::Fault>& faults) {
  CollectiveCluster out;
  if (!args.has("--node")) {
    faults.push_back({"--node", "is missing", "name a node; `forerun list nodes` shows the names", {}});
    return out;
  }
  const std::size_t before = faults.size();
  const Value tree = catalogue.expanded(Catalogue::Kind::node, word(args.get("--node"), "--node"), "--node", faults);
  if (faults.size() > before) return out;
  spec::Cluster& cluster = out.cluster;
  cluster.node = catalogue.node(tree, "node", faults);
  cluster.nodes = count_of(args, "--nodes", 1, faults).value_or(1);
  if (auto fabric = fabric_from(args, tree, catalogue, faults)) {
    cluster.fabric = std::move(*fabric);
  } else if (cluster.nodes > 1) {
    faults.push_back({"--fabric",
                      "is missing, and the node has no fabric of its own",
                      "name one; `forerun list fabrics` shows the names",
                      {}});
  }
  const int all = cluster.node.gpus;
  out.gpus = count_of(args, "--gpus", all, faults).value_or(all);
  if (faults.size() > before) return out;
  if (out.gpus > all || (cluster.nodes > 1 && all % out.gpus != 0)) {
    faults.push_back({"--gpus",
                      "a node has " + std::to_string(all) + " GPUs, and " + std::to_string(out.gpus) +
                          (out.gpus > all ? " are more" : " do not divide them evenly"),
                      "write a divisor of " + std::to_string(all) + ", or leave it out",
                      {}});
  }
  if (cluster.apart()) {
    faults.push_back({"--nodes", "this node has no network cards", "write --nodes 1, or name a node with cards", {}});
  }
  if (const std::int64_t places = spec::most_nodes(cluster); cluster.nodes > places) {
    faults.push_back({"--nodes",
                      "the fabric has places for " + std::to_string(places) + " nodes, " +
                          std::to_string(cluster.nodes) + " are more",
                      "write as many or fewer, or name a larger fabric",
                      {}});
  }
  spec::assemble(cluster);
  return out;
}

}  // namespace cli
