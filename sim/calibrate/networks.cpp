// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/networks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/parallel.h"
#include "sim/calibrate/collective_fit.h"
#include "sim/calibrate/collective_rows.h"
#include "sim/calibrate/follow_network.h"
#include "sim/calibrate/least_squares.h"
#include "sim/calibrate/measured_row.h"
#include "sim/calibrate/residuals.h"
#include "sim/network/collective_table.h"

namespace sim {
namespace {

using N = spec::NetworkCalibration;
using Networks = std::map<std::string, N>;
using Verdict = result::CurveFit::Verdict;

constexpr std::size_t kFewestOfACurve = 5;
constexpr std::size_t kFewestTogether =
    100;  // of curves drawn together: up to 16 constants, and rows seldom tell which ran
constexpr double kLeastOfTwoMachines = 0.05;       // rows of one session agree better than two machines do
constexpr std::int64_t kResidualFrom = 256 << 10;  // residuals of curves are of rows from here on

struct Fitted {
  result::CurveFit told;
  std::string title;  // of the rows: "60 rows; A100-SXM4-80GB; 2-64 nodes"
};

std::string title_of(const PlacedRows& rows) {
  std::set<std::string> gpus;
  std::set<int> islands;
  for (const PlacedCollective& row : rows) {
    gpus.insert(row.gpu);
    islands.insert(row.work.group.sharing > 0 ? row.work.group.domains : 1);
  }
  std::string out = fmt::format("{} rows; {}", rows.size(), fmt::join(gpus, ", "));
  const int fewest = *islands.begin(), most = *islands.rbegin();
  if (most > 1) out += fewest == most ? fmt::format("; {} nodes", most) : fmt::format("; {} to {} nodes", fewest, most);
  return out;
}

std::string repositories(const PlacedRows& rows, const config::KernelTables& tables) {
  std::set<std::string> names;
  for (const PlacedCollective& row : rows) {
    const std::string& source = tables.sources[row.source];
    names.insert(source.substr(0, source.find(' ')));
  }
  return names.size() == 1 ? *names.begin() : fmt::format("{} sources", names.size());
}

/// Residual of a curve: of its larger rows, or of all where none is large.
double residual_of(const PlacedRows& rows, const std::vector<double>& errors) {
  std::vector<double> large;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].work.bytes >= kResidualFrom) large.push_back(errors[i]);
  }
  return rounded(std::max(kLeastOfTwoMachines, figures(large.empty() ? errors : large).spread));
}

void put(const Networks& networks, std::vector<spec::Cluster>& clusters) {
  for (spec::Cluster& cluster : clusters) {
    for (const bool fabric : {false, true}) {
      N& path = path_of(cluster, fabric);
      if (const auto at = networks.find(path.name); at != networks.end()) path = at->second;
    }
  }
}

/// The families of one calibration, one after another.
class NetworkFitter {
 public:
  NetworkFitter(N& path, bool fabric, std::vector<spec::Cluster> clusters)
      : path_(path), fabric_(fabric), clusters_(std::move(clusters)) {}

  Fitted fit(plan::CollectiveKind kind, const PlacedRows& rows) {
    Fitted out;
    out.title = title_of(rows);
    const std::vector<FittedCurve> curves = curves_of(kind, path_, fabric_, multicast(rows));
    if (rows.size() < (curves.size() == 1 ? kFewestOfACurve : kFewestTogether)) {
      out.told.verdict = Verdict::too_few;
      return out;
    }
    std::vector<spec::Cluster> trial = clusters_;
    const std::vector<std::string> kept = fit_collective(trial, fabric_, curves, rows);
    const std::vector<double> weights = collective_weights(rows), before = log_errors(rows, clusters_),
                              after = log_errors(rows, trial);
    const bool better = robust_loss(after, weights) <= robust_loss(before, weights) * (1 + 1e-9);
    out.told.verdict = better ? Verdict::replaced : Verdict::kept;
    out.told.kept_constants = kept;
    if (!better) return out;
    clusters_ = std::move(trial);
    const N& drawn = path_of(clusters_[rows.front().on], fabric_);
    for (const FittedCurve curve : curves) {
      path_.*curve = drawn.*curve;
      sign(path_.*curve, curve == curves.front() ? "" : name(kind), out, residual_of(rows, after));
    }
    return out;
  }

 private:
  bool multicast(const PlacedRows& rows) const {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const PlacedCollective& row) { return clusters_[row.on].node.nvlink.multicast; });
  }

  static std::string_view name(plan::CollectiveKind kind) { return sim::name(kind); }

  static void sign(spec::PathCurve& curve, std::string_view together, const Fitted& fit, double residual) {
    curve.measured = true;
    curve.residual = residual;
    curve.source = together.empty() ? fit.title : fmt::format("fitted together with {}", together);
    if (together.empty() && !fit.told.kept_constants.empty()) {
      curve.source += "; constants that they do not tell are kept";
    }
    curve.source += "; fitted by forerun calibrate --from-data";
  }

  N& path_;
  bool fabric_;
  std::vector<spec::Cluster> clusters_;
};

using Fits = std::map<CollectiveFamily, Fitted>;

/// Links inside nodes, or fabrics, each calibration by itself.
void fit_all(bool fabric, const PlacedCollectives& rows, const std::set<std::string>& wanted, Networks& networks,
             Fits& fits) {
  std::vector<std::string> names;
  for (const auto& [family, some] : rows.families) {
    if (family.fabric != fabric || !wanted.contains(family.calibration)) continue;
    if (names.empty() || names.back() != family.calibration) names.push_back(family.calibration);
    fits[family] = {};
  }
  std::vector<spec::Cluster> clusters = rows.clusters;
  put(networks, clusters);
  base::parallel_for(names.size(), [&](std::size_t i) {
    NetworkFitter fitter(networks.at(names[i]), fabric, clusters);
    for (const auto& [family, some] : rows.families) {
      if (family.fabric == fabric && family.calibration == names[i]) fits.at(family) = fitter.fit(family.kind, some);
    }
  });
}

void tell(const PlacedCollectives& rows, const Fits& fits, const Networks& before, const Networks& now,
          const config::KernelTables& tables, result::KernelCalibration& report) {
  std::vector<spec::Cluster> was = rows.clusters, is = rows.clusters;
  put(before, was);
  put(now, is);
  CollectiveResiduals residuals;
  for (const auto& [family, fitted] : fits) {
    const PlacedRows& some = rows.families.at(family);
    result::CurveFit told = fitted.told;
    told.calibration = family.calibration;
    told.family = name(family.kind);
    told.source = repositories(some, tables);
    told.rows = static_cast<int>(some.size());
    told.before = figures(log_errors(some, was));
    told.after = figures(log_errors(some, is));
    residuals.add(told, some, tables, is);
    report.curves.push_back(std::move(told));
  }
  report.residuals.push_back(std::move(residuals).table());
}

/// Curves that no row was fitted to, by what they are taken from.
void tell_assumed(const std::vector<CalibratableNetwork>& shelf, const Networks& now,
                  result::KernelCalibration& report) {
  for (const CalibratableNetwork& one : shelf) {
    if (!one.fitted) continue;
    for (const spec::CurveName& curve : spec::kCurveNames) {
      const spec::PathCurve& c = now.at(one.calibration.name).*curve.curve;
      if (!c.offered() || c.measured) continue;
      report.assumed.push_back(fmt::format("{} {}: {}", one.calibration.name, curve.key, c.source));
    }
  }
}

}  // namespace

std::vector<N> calibrate_networks(const config::KernelTables& tables, const std::vector<config::Place>& places,
                                  const std::vector<CalibratableNetwork>& shelf, result::KernelCalibration& report) {
  const PlacedCollectives rows = placed(tables, places);
  Networks before;
  std::set<std::string> wanted;
  for (const CalibratableNetwork& one : shelf) {
    before[one.calibration.name] = one.calibration;
    if (one.fitted) wanted.insert(one.calibration.name);
  }
  Networks now = before;
  Fits fits;
  for (const bool fabric : {false, true}) fit_all(fabric, rows, wanted, now, fits);
  std::set<std::string> with_rows;
  for (const auto& [family, some] : rows.families) {
    with_rows.insert(family.calibration + ' ' + std::string(name(family.kind)));
  }
  for (const std::string& line : follow(before, now, with_rows)) report.followed.push_back(line);
  tell(rows, fits, before, now, tables, report);
  tell_assumed(shelf, now, report);
  for (const auto& [why, count] : rows.left_out) report.left_out[why] += count;
  std::vector<N> out;
  for (const CalibratableNetwork& one : shelf) out.push_back(now.at(one.calibration.name));
  return out;
}

}  // namespace sim
