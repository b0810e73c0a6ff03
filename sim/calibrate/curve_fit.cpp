// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/curve_fit.h"

#include <algorithm>
#include <cmath>

#include "sim/calibrate/least_squares.h"
#include "sim/network/closed_form.h"
#include "sim/network/knobs.h"

namespace sim {
namespace {

using spec::PathCurve;

constexpr double kNoise = 0.05;  // deviation of one row that is no surprise, of the logarithm
constexpr double kPull = 1.5;    // deviation of a constant from its start that is no surprise, of the logarithm
constexpr double kHighestEfficiency = 1.5;  // as the reader of calibration files has it
constexpr double kReach = 1e4;              // of a constant from its start; beyond 20 the pull is an outlier's

/// Where a constant that stands at zero begins.
double least_start(const Knob& knob) {
  switch (knob.what) {
    case Knob::What::efficiency: return 1e-3;
    case Knob::What::latency: return 1e-7;
    case Knob::What::hop: return 1e-8;
    case Knob::What::ramp: return 1e3;
    case Knob::What::decay:
    case Knob::What::local: break;
  }
  return knob.least;
}

bool bounded(const Knob& knob) { return knob.what == Knob::What::efficiency; }

/// The constants that move, with their starts.
class Constants {
 public:
  Constants(spec::Cluster& cluster, const FitTarget& target, const std::vector<FitRow>& rows) {
    bool steps = false;
    for (const FitRow& row : rows) steps = steps || row.work.group != rows.front().work.group;
    spec::NetworkCalibration& path = target.fabric ? cluster.fabric.calibration : cluster.node.links;
    for (const auto member : target.curves) {
      PathCurve& curve = path.*member;
      for (const Knob& knob : kKnobs) {
        if (knob.what == Knob::What::decay || knob.what == Knob::What::local || !offered(knob, curve)) continue;
        if (knob.what == Knob::What::hop && !steps) continue;
        free_.emplace_back(&curve, &knob);
        start_.push_back(std::max(knob.get(curve), least_start(knob)));
      }
    }
  }

  void apply(const std::vector<double>& values) const {
    for (std::size_t i = 0; i < free_.size(); ++i) free_[i].second->set(*free_[i].first, values[i]);
  }

  /// How far each constant is from its start, on the scale of a row's error: what no row tells stays there.
  void pull(const std::vector<double>& values, std::vector<double>& errors) const {
    for (std::size_t i = 0; i < start_.size(); ++i) {
      errors.push_back(kNoise / kPull * std::log(values[i] / start_[i]));
    }
  }

  /// Every efficiency times `by`, every other constant over `over`: the unknowns of a search from there.
  std::vector<Unknown> unknowns(double by, double over) const {
    std::vector<Unknown> out;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      const Knob& knob = *free_[i].second;
      const double least = start_[i] / kReach, most = bounded(knob) ? kHighestEfficiency : start_[i] * kReach;
      out.push_back(
          {knob.name, std::clamp(bounded(knob) ? start_[i] * by : start_[i] / over, least, most), least, most});
    }
    return out;
  }

  bool at_bound(const LeastSquares& problem, const Minimum& found) const {
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (bounded(*free_[i].second) && found.values[i] > 1 && found.at_bound(problem, i)) return true;
    }
    return false;
  }

 private:
  std::vector<std::pair<PathCurve*, const Knob*>> free_;
  std::vector<double> start_;
};

/// log(predicted / measured) of every row.
std::vector<double> errors_of(const std::vector<FitRow>& rows, const spec::Cluster& cluster) {
  std::vector<double> out;
  for (const FitRow& row : rows) out.push_back(std::log(price(row.work, cluster).time / row.time));
  return out;
}

/// log(predicted / measured) of the row with the most bytes, and of that with the fewest.
std::pair<double, double> at_the_ends(const std::vector<FitRow>& rows, const std::vector<double>& errors) {
  const auto fewer = [](const FitRow& a, const FitRow& b) { return a.work.bytes < b.work.bytes; };
  const auto largest = std::max_element(rows.begin(), rows.end(), fewer);
  const auto smallest = std::min_element(rows.begin(), rows.end(), fewer);
  return {errors[largest - rows.begin()], errors[smallest - rows.begin()]};
}

}  // namespace

std::vector<FittedCurve> curves_of(plan::CollectiveKind kind, const spec::NetworkCalibration& path, bool fabric,
                                   bool multicast) {
  using N = spec::NetworkCalibration;
  switch (kind) {
    case plan::CollectiveKind::all_reduce: {
      std::vector<FittedCurve> out{&N::all_reduce};
      if (fabric && path.tree.offered()) out.push_back(&N::tree);
      if (!fabric && multicast && path.nvls.offered()) out.push_back(&N::nvls);
      return out;
    }
    case plan::CollectiveKind::all_gather: return {&N::all_gather};
    case plan::CollectiveKind::reduce_scatter: return {&N::reduce_scatter};
    case plan::CollectiveKind::all_to_all: return {&N::all_to_all};
    case plan::CollectiveKind::broadcast:
    case plan::CollectiveKind::reduce: return {&N::broadcast};
    case plan::CollectiveKind::shift: break;
  }
  return {&N::send};
}

FitQuality fit(spec::Cluster& cluster, const FitTarget& target, const std::vector<FitRow>& rows) {
  const Constants free(cluster, target, rows);
  LeastSquares problem{.unknowns = free.unknowns(1, 1), .weights = {}, .errors = [&](const auto& values) {
                         free.apply(values);
                         std::vector<double> errors = errors_of(rows, cluster);
                         free.pull(values, errors);
                         return errors;
                       }};
  Minimum best = minimise(problem);
  // Once more from where efficiencies meet the largest row and latencies the smallest.
  std::vector<double> start;
  for (const Unknown& one : problem.unknowns) start.push_back(one.start);
  free.apply(start);
  const auto [largest, smallest] = at_the_ends(rows, errors_of(rows, cluster));
  problem.unknowns = free.unknowns(std::exp(largest), std::exp(smallest));
  if (Minimum other = minimise(problem); other.loss < best.loss) best = std::move(other);

  free.apply(best.values);
  const std::vector<double> errors = errors_of(rows, cluster);
  FitQuality quality;
  quality.at_bound = free.at_bound(problem, best);
  std::vector<double> shares;
  for (const double e : errors) {
    quality.residual += e * e / static_cast<double>(errors.size());
    shares.push_back(std::abs(std::exp(e) - 1));
  }
  quality.residual = std::sqrt(quality.residual);
  std::nth_element(shares.begin(), shares.begin() + shares.size() / 2, shares.end());
  quality.median_abs_error = shares[shares.size() / 2];
  return quality;
}

}  // namespace sim
