// SPDX-License-Identifier: Apache-2.0
#include "sim/network/collective_accuracy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/base/fault.h"
#include "sim/network/closed_form.h"
#include "sim/network/collective_table.h"

namespace sim {
namespace {

/// REQUIRES: not empty.
double median(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle] + *std::max_element(values.begin(), values.begin() + middle)) / 2;
}

struct Errors {
  std::vector<double> small, large;
  void add(const result::CollectiveCase& c) { (c.bytes < kLargeCollective ? small : large).push_back(c.error); }
};

result::CollectiveFigures figures(const std::vector<double>& errors) {
  if (errors.empty()) return {};
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  return {static_cast<int>(errors.size()), median(std::move(sizes)), median(errors)};
}

}  // namespace

void hold_against(const std::string& file, const std::vector<config::CollectiveSweep>& sweeps,
                  result::CollectiveValidation& out) {
  for (const config::CollectiveSweep& sweep : sweeps) {
    const auto kind = collective_named(sweep.op);
    if (!kind) {
      throw base::InputError(
          {{"op", "there is no collective '" + sweep.op + "'", "`forerun show --help` names them", {file, 0, 0}}});
    }
    const plan::GroupShape group = group_of_nodes(sweep.cluster, sweep.gpus);
    result::CollectiveSweep told{.file = file,
                                 .op = sweep.op,
                                 .node = sweep.cluster.node.name,
                                 .fabric = group.domains > 1 ? sweep.cluster.fabric.name : "",
                                 .asked = std::string(spec::name(sweep.algorithm)),
                                 .nodes = sweep.cluster.nodes,
                                 .gpus = sweep.gpus,
                                 .cases = {}};
    for (std::size_t i = 0; i < sweep.bytes.size(); ++i) {
      const NetworkPrice p = price(plan::Collective{*kind, sweep.bytes[i], group}, sweep.cluster, sweep.algorithm);
      const double measured = sweep.times[i].si(), predicted = p.time.si();
      told.cases.push_back({sweep.bytes[i], measured, predicted, measured / predicted - 1,
                            std::string(spec::name(p.algorithm)), std::string(name(p.protocol))});
    }
    out.sweeps.push_back(std::move(told));
  }
}

void summarise(result::CollectiveValidation& v) {
  std::map<std::tuple<std::string, int, std::string>, Errors> groups;
  Errors all;
  for (const result::CollectiveSweep& sweep : v.sweeps) {
    Errors& group = groups[{sweep.node, sweep.nodes, sweep.op}];
    for (const result::CollectiveCase& one : sweep.cases) {
      group.add(one);
      all.add(one);
    }
  }
  v.groups.clear();
  for (const auto& [key, errors] : groups) {
    const auto& [node, nodes, op] = key;
    v.groups.push_back({node, op, nodes, figures(errors.small), figures(errors.large)});
  }
  v.small = figures(all.small);
  v.large = figures(all.large);
}

}  // namespace sim
