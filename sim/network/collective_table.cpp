// SPDX-License-Identifier: Apache-2.0
#include "sim/network/collective_table.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/plan/group_shape.h"
#include "sim/network/closed_form.h"

namespace sim {
namespace {

using plan::CollectiveKind;

constexpr CollectiveKind kKinds[] = {CollectiveKind::all_reduce,     CollectiveKind::all_gather,
                                     CollectiveKind::reduce_scatter, CollectiveKind::all_to_all,
                                     CollectiveKind::broadcast,      CollectiveKind::shift};

constexpr double kEightyPercent = 1.2816;  // standard deviations to either side that hold 80 % of a normal distribution

}  // namespace

std::string_view name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return "all_reduce";
    case CollectiveKind::all_gather: return "all_gather";
    case CollectiveKind::reduce_scatter: return "reduce_scatter";
    case CollectiveKind::all_to_all: return "all_to_all";
    case CollectiveKind::broadcast: return "broadcast";
    case CollectiveKind::reduce: return "reduce";
    case CollectiveKind::shift: break;
  }
  return "send";
}

std::string name(CollectiveKind kind, const spec::NetworkCalibration& path) {
  return std::string(name(kind)) + " over " + (path.name.empty() ? "unnamed links" : path.name);
}

std::optional<CollectiveKind> collective_named(std::string_view word) {
  for (const CollectiveKind kind : kKinds) {
    if (name(kind) == word) return kind;
  }
  return std::nullopt;
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const CollectiveKind kind : kKinds) names.emplace_back(name(kind));
  return names;
}

plan::GroupShape group_of_nodes(const spec::Cluster& cluster, int gpus) {
  const int total = cluster.gpus();
  const int stride = cluster.nodes > 1 ? cluster.node.gpus / gpus : 1;
  plan::GroupShape group = plan::group_shape(stride, gpus * cluster.nodes, cluster, cluster.nodes > 1 ? total : gpus);
  group.sharing = std::min(group.sharing, 1);  // the groups beside it are idle
  return group;
}

std::string curve_name(const spec::PathCurve* curve, const spec::Cluster& cluster) {
  for (const spec::NetworkCalibration* path : {&cluster.node.links, &cluster.fabric.calibration}) {
    for (const spec::CurveName& one : spec::kCurveNames) {
      if (&(path->*one.curve) == curve) return (path->name.empty() ? "unnamed" : path->name) + "." + one.key;
    }
  }
  return "";
}

bool outside(const spec::PathCurve& curve, std::int64_t bytes) {
  const double size = static_cast<double>(bytes);
  const spec::Covered& c = curve.covered;
  return c.to.si() > 0 && (size < c.from.si() / 2 || size > c.to.si() * 2);
}

result::CollectiveTable collective_table(CollectiveKind kind, const spec::Cluster& cluster, int gpus,
                                         const std::vector<std::int64_t>& sizes, spec::Algorithm wanted) {
  const plan::GroupShape group = group_of_nodes(cluster, gpus);
  result::CollectiveTable table;
  table.op = name(kind);
  table.node = cluster.node.name;
  table.fabric = group.domains > 1 && group.sharing > 0 ? cluster.fabric.name : "";
  table.nodes = cluster.nodes;
  table.gpus = gpus;
  table.ranks = group.size;
  table.domains = group.domains;
  table.asked = spec::name(wanted);
  bool beyond = false;
  for (const std::int64_t bytes : sizes) {
    const NetworkPrice price = sim::price(plan::Collective{kind, bytes, group}, cluster, wanted);
    result::CollectiveRow row;
    row.bytes = bytes;
    row.time_s = price.time.si();
    if (price.curve) {
      row.measured = price.curve->measured;
      row.source = price.curve->source;
      row.extrapolated = outside(*price.curve, bytes);
    }
    const double spread = row.extrapolated ? std::max(price.residual, kSpreadOfGuess) : price.residual;
    row.low_s = row.time_s * std::exp(-kEightyPercent * spread);
    row.high_s = row.time_s * std::exp(kEightyPercent * spread);
    row.algbw = row.time_s > 0 ? static_cast<double>(bytes) / row.time_s : 0;
    row.busbw = row.algbw * bus_factor(kind, group.size);
    row.algorithm = spec::name(price.algorithm);
    row.protocol = name(price.protocol);
    row.curve = curve_name(price.curve, cluster);
    beyond = beyond || row.extrapolated;
    table.rows.push_back(std::move(row));
  }
  if (beyond) table.warnings.push_back("sizes marked with * lie outside of those that their curve was fitted to");
  if (wanted != spec::Algorithm::automatic && !table.rows.empty() &&
      !offered(wanted, plan::Collective{kind, sizes.front(), group}, cluster)) {
    table.warnings.push_back(std::string(table.op) + " has no " + std::string(spec::name(wanted)) +
                             " on this path: " + table.rows.front().algorithm + " takes its place");
  }
  return table;
}

}  // namespace sim
