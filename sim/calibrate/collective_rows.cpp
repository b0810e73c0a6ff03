// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/collective_rows.h"

#include <cmath>
#include <optional>
#include <utility>

#include "sim/network/closed_form.h"
#include "sim/network/collective_table.h"

namespace sim {
namespace {

constexpr std::int64_t kLeastSize = 1024;  // smaller collectives are launch time alone

class Placing {
 public:
  Placing(const config::KernelTables& tables, const std::vector<config::Place>& places)
      : tables_(tables), places_(places) {}

  PlacedCollectives run() {
    for (const config::MeasuredCollective& row : tables_.collectives) {
      if (const std::string why = add(row); !why.empty()) ++out_.left_out[why];
    }
    return std::move(out_);
  }

 private:
  /// Why the row is left out; empty: it is not.
  std::string add(const config::MeasuredCollective& row) {
    const config::Place* place = config::place_of(row, tables_.sources[row.source], places_);
    if (place == nullptr) return "collectives on a cluster that topologies/collective_places.yaml does not name";
    if (!place->leave_out.empty()) return "collectives: " + place->leave_out;
    if (row.bytes < kLeastSize) return "collectives below 1 KiB: launch time alone";
    const auto kind = collective_named(row.op);
    const int gpus = row.ranks / row.nodes, has = place->cluster.node.gpus;
    if (!kind || gpus * row.nodes != row.ranks || gpus > has || (row.nodes > 1 && has % gpus != 0)) {
      return "collectives whose ranks do not lie evenly on the nodes of their cluster";
    }
    const std::size_t on = cluster(*place, row.nodes);
    const spec::Cluster& c = out_.clusters[on];
    const plan::GroupShape group = group_of_nodes(c, gpus);
    const bool fabric = group.domains > 1 && group.sharing > 0;
    const PlacedCollective one{
        {*kind, row.bytes, group}, row.algorithm, time_of(row, *kind, place->fastest), on, row.source, row.gpu};
    out_.families[{fabric, fabric ? c.fabric.calibration.name : c.node.links.name, *kind}].push_back(one);
    return "";
  }

  static base::Seconds time_of(const config::MeasuredCollective& row, plan::CollectiveKind kind, bool fastest) {
    const base::ByteRate bus = fastest && row.bus_p95.si() > 0 ? row.bus_p95 : row.bus;
    if (row.time.si() > 0 && !fastest) return row.time;
    return base::Bytes(static_cast<double>(row.bytes)) * bus_factor(kind, row.ranks) / bus;
  }

  std::size_t cluster(const config::Place& place, int nodes) {
    const auto [at, fresh] = known_.try_emplace({&place, nodes}, out_.clusters.size());
    if (fresh) {
      out_.clusters.push_back(place.cluster);
      out_.clusters.back().nodes = nodes;
    }
    return at->second;
  }

  const config::KernelTables& tables_;
  const std::vector<config::Place>& places_;
  std::map<std::pair<const config::Place*, int>, std::size_t> known_;
  PlacedCollectives out_;
};

}  // namespace

PlacedCollectives placed(const config::KernelTables& tables, const std::vector<config::Place>& places) {
  return Placing(tables, places).run();
}

spec::NetworkCalibration& path_of(spec::Cluster& cluster, bool fabric) {
  return fabric ? cluster.fabric.calibration : cluster.node.links;
}

std::vector<double> log_errors(const PlacedRows& rows, const std::vector<spec::Cluster>& clusters) {
  std::vector<double> out;
  out.reserve(rows.size());
  for (const PlacedCollective& row : rows) {
    out.push_back(std::log(price(row.work, clusters[row.on], row.algorithm).time / row.time));
  }
  return out;
}

}  // namespace sim
