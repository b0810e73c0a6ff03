// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/nccl_logs.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/fault.h"
#include "sim/calibrate/curve_fit.h"
#include "sim/network/collective_table.h"

namespace sim {
namespace {

using plan::CollectiveKind;
using Curve = spec::PathCurve spec::NetworkCalibration::*;

[[noreturn]] void refuse(const config::NcclLog& log, std::string what, std::string mend) {
  throw base::InputError({{"", std::move(what), std::move(mend), {log.file, 1, 1}}});
}

/// The ranks of a log on the cluster, with the cluster's nodes set to the log's.
plan::GroupShape group_of(const config::NcclLog& log, spec::Cluster& on, bool nodes_given, int gpus) {
  if (!nodes_given && log.hosts > 0) on.nodes = log.hosts;
  const int ranks = log.ranks > 0 ? log.ranks : gpus * on.nodes;
  const std::string has = std::to_string(ranks) + " ranks";
  if (ranks < 2) refuse(log, "a test among one rank says nothing of links", "leave this log out");
  if (ranks > on.gpus()) {
    refuse(log, has + " are more GPUs than " + std::to_string(on.nodes) + " x " + on.node.name + " has",
           "write --nodes, or name another --node");
  }
  if (on.nodes > 1 && (ranks % on.nodes != 0 || on.node.gpus % (ranks / on.nodes) != 0)) {
    refuse(log,
           has + " do not lie evenly on " + std::to_string(on.nodes) + " nodes of " + std::to_string(on.node.gpus) +
               " GPUs",
           "use logs with equal shares on every node");
  }
  return group_of_nodes(on, ranks / on.nodes);
}

class Importer {
 public:
  Importer(const spec::Cluster& cluster, bool nodes_given, int gpus)
      : cluster_(cluster), nodes_given_(nodes_given), gpus_(gpus) {}

  CalibratedNetwork run(const std::vector<config::NcclLog>& logs) {
    for (const config::NcclLog& log : logs) add(log);
    if (rows_.empty()) {
      throw base::InputError({{"LOG",
                               "no row of a collective that Forerun prices is left",
                               "give logs of all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf, "
                               "broadcast_perf or sendrecv_perf",
                               {}}});
    }
    spec::NetworkCalibration& path = fabric_ ? cluster_.fabric.calibration : cluster_.node.links;
    out_.fabric = fabric_;
    out_.report.base = path.name.empty() ? "defaults" : path.name;
    out_.report.path = fabric_ ? "fabric " + cluster_.fabric.name + " between nodes " + cluster_.node.name
                               : "links of " + cluster_.node.name;
    guess_all(path);
    for (const auto& [kind, rows] : rows_) fit_one(kind, rows, path);
    for (const spec::CurveName& one : spec::kCurveNames) {
      if (one.required && !(path.*one.curve).measured) out_.report.guessed.emplace_back(one.key);
    }
    path.sources = sources_;
    out_.calibration = path;
    return std::move(out_);
  }

 private:
  void add(const config::NcclLog& log) {
    const std::string file = std::filesystem::path(log.file).filename();
    for (const std::string& note : log.notes) out_.report.warnings.push_back(file + ": " + note);
    const auto kind = collective_named(log.op);
    if (!kind) {
      out_.report.warnings.push_back(file + ": " + log.test + " is no collective that Forerun prices; left out");
      return;
    }
    if (log.rows.empty()) {
      out_.report.warnings.push_back(file + ": " + log.test + " has no row");
      return;
    }
    spec::Cluster on = cluster_;
    const plan::GroupShape group = group_of(log, on, nodes_given_, gpus_);
    const bool fabric = group.domains > 1 && group.sharing > 0;
    if (!rows_.empty() && fabric != fabric_) {
      refuse(log, "this log is of the " + std::string(fabric ? "fabric" : "links inside a node") + ", others are not",
             "import them apart, into a file each");
    }
    fabric_ = fabric;
    cluster_.nodes = std::max(cluster_.nodes, on.nodes);
    for (const config::NcclRow& row : log.rows) rows_[*kind].push_back({{*kind, row.bytes, group}, row.time()});
    sources_.push_back(log.test + (log.version.empty() ? "" : " of nccl-tests " + log.version) + ", " + file + ": " +
                       std::to_string(group.size) + " ranks on " + std::to_string(on.nodes) + " x " +
                       cluster_.node.name);
  }

  void guess_all(spec::NetworkCalibration& path) {
    for (const spec::CurveName& one : spec::kCurveNames) {
      spec::PathCurve& curve = path.*one.curve;
      if (!curve.offered()) continue;
      curve.measured = false;
      curve.covered = {};
      curve.residual = std::max(curve.residual, kSpreadOfGuess);
      curve.source = "not in the logs: curve of " + out_.report.base;
    }
  }

  void fit_one(CollectiveKind kind, const std::vector<FitRow>& rows, spec::NetworkCalibration& path) {
    if (kind == CollectiveKind::broadcast && !path.broadcast.offered()) path.broadcast = path.all_gather;
    const FitTarget target{fabric_, curves_of(kind, path, fabric_, cluster_.node.nvlink.multicast)};
    const FitQuality quality = fit(cluster_, target, rows);
    result::ImportedCollective told{.op = std::string(name(kind)),
                                    .rows = static_cast<int>(rows.size()),
                                    .from_bytes = rows.front().work.bytes,
                                    .to_bytes = rows.front().work.bytes,
                                    .fewest_ranks = rows.front().work.group.size,
                                    .most_ranks = rows.front().work.group.size,
                                    .residual = quality.residual,
                                    .median_abs_error = quality.median_abs_error};
    for (const FitRow& row : rows) {
      told.from_bytes = std::min(told.from_bytes, row.work.bytes);
      told.to_bytes = std::max(told.to_bytes, row.work.bytes);
      told.fewest_ranks = std::min(told.fewest_ranks, row.work.group.size);
      told.most_ranks = std::max(told.most_ranks, row.work.group.size);
    }
    for (const Curve member : target.curves) {
      spec::PathCurve& curve = path.*member;
      curve.measured = true;
      curve.residual = quality.residual;
      curve.covered = {base::Bytes(static_cast<double>(told.from_bytes)),
                       base::Bytes(static_cast<double>(told.to_bytes)), told.fewest_ranks, told.most_ranks, told.rows};
      curve.source = std::to_string(told.rows) + " rows of nccl-tests, " + told.op;
      if (target.curves.size() > 1) curve.source += ", whose algorithms are fitted together";
    }
    if (quality.at_bound) {
      out_.report.warnings.push_back(told.op +
                                     ": faster than one and a half times the links' data sheet; is this the "
                                     "right --node?");
    }
    out_.report.fitted.push_back(std::move(told));
  }

  spec::Cluster cluster_;
  bool nodes_given_;
  int gpus_;
  bool fabric_ = false;
  std::map<CollectiveKind, std::vector<FitRow>> rows_;
  std::vector<std::string> sources_;
  CalibratedNetwork out_;
};

}  // namespace

CalibratedNetwork calibrate(const std::vector<config::NcclLog>& logs, const spec::Cluster& cluster, bool nodes_given,
                            int gpus) {
  return Importer(cluster, nodes_given, gpus).run(logs);
}

}  // namespace sim
