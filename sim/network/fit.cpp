// SPDX-License-Identifier: Apache-2.0
#include "sim/network/fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "sim/network/closed_form.h"

namespace sim {
namespace {

using spec::PathCurve;

constexpr double kNoise = 0.05;    // deviation of one row that is no surprise, of the logarithm
constexpr double kOutlier = 0.15;  // beyond this a row pulls with constant force
constexpr double kPull = 1.5;      // deviation of a constant from its start that is no surprise, of the logarithm
constexpr double kHighestEfficiency = 1.5;  // as the reader of calibration files has it
constexpr double kStep = 1e-4;              // of the numeric derivative
constexpr int kRounds = 200;

/// One constant of a curve, in SI units.
struct Knob {
  double (*get)(const PathCurve&);
  void (*set)(PathCurve&, double);
  double least;  // where a curve that starts at zero begins
  bool of_steps, low_latency, ll128, bounded;
};

constexpr Knob kKnobs[] = {
    {[](const PathCurve& c) { return c.efficiency; }, [](PathCurve& c, double v) { c.efficiency = v; }, 1e-3, false,
     false, false, true},
    {[](const PathCurve& c) { return c.latency.si(); }, [](PathCurve& c, double v) { c.latency = base::Seconds(v); },
     1e-7, false, false, false, false},
    {[](const PathCurve& c) { return c.hop.si(); }, [](PathCurve& c, double v) { c.hop = base::Seconds(v); }, 1e-8,
     true, false, false, false},
    {[](const PathCurve& c) { return c.ramp.si(); }, [](PathCurve& c, double v) { c.ramp = base::Bytes(v); }, 1e3,
     false, false, false, false},
    {[](const PathCurve& c) { return c.low_latency.efficiency; },
     [](PathCurve& c, double v) { c.low_latency.efficiency = v; }, 1e-3, false, true, false, true},
    {[](const PathCurve& c) { return c.low_latency.latency.si(); },
     [](PathCurve& c, double v) { c.low_latency.latency = base::Seconds(v); }, 1e-7, false, true, false, false},
    {[](const PathCurve& c) { return c.low_latency.hop.si(); },
     [](PathCurve& c, double v) { c.low_latency.hop = base::Seconds(v); }, 1e-8, true, true, false, false},
    {[](const PathCurve& c) { return c.ll128.efficiency; }, [](PathCurve& c, double v) { c.ll128.efficiency = v; },
     1e-3, false, false, true, true},
    {[](const PathCurve& c) { return c.ll128.latency.si(); },
     [](PathCurve& c, double v) { c.ll128.latency = base::Seconds(v); }, 1e-7, false, false, true, false},
    {[](const PathCurve& c) { return c.ll128.hop.si(); },
     [](PathCurve& c, double v) { c.ll128.hop = base::Seconds(v); }, 1e-8, true, false, true, false},
};

class Problem {
 public:
  Problem(spec::Cluster& cluster, const FitTarget& target, const std::vector<FitRow>& rows)
      : cluster_(cluster), rows_(rows) {
    bool steps = false;
    for (const FitRow& row : rows) steps = steps || row.work.group != rows.front().work.group;
    spec::NetworkCalibration& path = target.fabric ? cluster.fabric.calibration : cluster.node.links;
    for (const auto member : target.curves) {
      PathCurve& curve = path.*member;
      for (const Knob& knob : kKnobs) {
        if (knob.low_latency && curve.low_latency.efficiency <= 0) continue;
        if (knob.ll128 && curve.ll128.efficiency <= 0) continue;
        if (knob.of_steps && !steps) continue;
        free_.emplace_back(&curve, &knob);
      }
    }
    start_.resize(size());
    for (Eigen::Index i = 0; i < size(); ++i) {
      const auto& [curve, knob] = free_[i];
      start_[i] = std::log(std::max(knob->get(*curve), knob->least));
    }
  }

  Eigen::Index size() const { return static_cast<Eigen::Index>(free_.size()); }
  const Eigen::VectorXd& start() const { return start_; }

  void apply(const Eigen::VectorXd& at) {
    for (Eigen::Index i = 0; i < size(); ++i) free_[i].second->set(*free_[i].first, std::exp(at[i]));
  }

  /// No efficiency above what a file may state.
  void bound(Eigen::VectorXd& at) const {
    for (Eigen::Index i = 0; i < size(); ++i) {
      if (free_[i].second->bounded) at[i] = std::min(at[i], std::log(kHighestEfficiency));
    }
  }
  bool at_bound(const Eigen::VectorXd& at) const {
    for (Eigen::Index i = 0; i < size(); ++i) {
      if (free_[i].second->bounded && at[i] >= std::log(kHighestEfficiency) - 1e-9) return true;
    }
    return false;
  }

  Eigen::VectorXd errors(const Eigen::VectorXd& at) {  // log(predicted / measured)
    apply(at);
    Eigen::VectorXd out(static_cast<Eigen::Index>(rows_.size()));
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      out[static_cast<Eigen::Index>(r)] = std::log(price(rows_[r].work, cluster_).time / rows_[r].time);
    }
    return out;
  }

  double loss(const Eigen::VectorXd& at) {
    double sum = (at - start_).squaredNorm() / (kPull * kPull);
    for (const double e : errors(at)) {
      const double a = std::abs(e);
      sum += (a <= kOutlier ? a * a : kOutlier * (2 * a - kOutlier)) / (kNoise * kNoise);
    }
    return sum;
  }

  /// Both ends' pull: every efficiency scaled to meet the largest rows, every latency to meet the smallest.
  Eigen::VectorXd scaled_start() {
    const Eigen::VectorXd error = errors(start_);
    Eigen::Index largest = 0, smallest = 0;
    for (Eigen::Index r = 1; r < error.size(); ++r) {
      if (rows_[r].work.bytes > rows_[largest].work.bytes) largest = r;
      if (rows_[r].work.bytes < rows_[smallest].work.bytes) smallest = r;
    }
    Eigen::VectorXd at = start_;
    for (Eigen::Index i = 0; i < size(); ++i) {
      at[i] += free_[i].second->bounded ? error[largest] : -error[smallest];
    }
    bound(at);
    return at;
  }

 private:
  spec::Cluster& cluster_;
  const std::vector<FitRow>& rows_;
  std::vector<std::pair<PathCurve*, const Knob*>> free_;
  Eigen::VectorXd start_;
};

/// Levenberg-Marquardt from `at`; leaves the best point there and returns its loss.
double descend(Problem& problem, Eigen::VectorXd& at) {
  double best = problem.loss(at), damping = 1e-2;
  for (int round = 0; round < kRounds && damping < 1e8; ++round) {
    const Eigen::VectorXd error = problem.errors(at);
    Eigen::MatrixXd jacobian(error.size(), problem.size());
    for (Eigen::Index i = 0; i < problem.size(); ++i) {
      Eigen::VectorXd beside = at;
      beside[i] += kStep;
      jacobian.col(i) = (problem.errors(beside) - error) / kStep;
    }
    Eigen::VectorXd weight(error.size());
    for (Eigen::Index r = 0; r < error.size(); ++r) {
      weight[r] = std::min(1.0, kOutlier / std::max(std::abs(error[r]), 1e-12)) / (kNoise * kNoise);
    }
    Eigen::MatrixXd normal = jacobian.transpose() * weight.asDiagonal() * jacobian;
    normal.diagonal().array() += 1 / (kPull * kPull);
    const Eigen::VectorXd downhill =
        -(jacobian.transpose() * weight.cwiseProduct(error)) - (at - problem.start()) / (kPull * kPull);
    bool better = false;
    while (!better && damping < 1e8) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() *= 1 + damping;
      Eigen::VectorXd next = at + damped.ldlt().solve(downhill);
      problem.bound(next);
      const double loss = problem.loss(next);
      better = loss < best;
      if (!better) {
        damping *= 4;
        continue;
      }
      const bool done = best - loss < 1e-9 * best;
      at = next;
      best = loss;
      damping = std::max(damping / 3, 1e-9);
      if (done) return best;
    }
  }
  return best;
}

}  // namespace

FitQuality fit(spec::Cluster& cluster, const FitTarget& target, const std::vector<FitRow>& rows) {
  Problem problem(cluster, target, rows);
  Eigen::VectorXd at = problem.start(), other = problem.scaled_start();
  if (descend(problem, other) < descend(problem, at)) at = other;
  const Eigen::VectorXd errors = problem.errors(at);  // leaves the curves at `at`
  FitQuality quality;
  quality.residual = std::sqrt(errors.squaredNorm() / static_cast<double>(errors.size()));
  quality.at_bound = problem.at_bound(at);
  std::vector<double> shares;
  for (const double e : errors) shares.push_back(std::abs(std::exp(e) - 1));
  std::nth_element(shares.begin(), shares.begin() + shares.size() / 2, shares.end());
  quality.median_abs_error = shares[shares.size() / 2];
  return quality;
}

}  // namespace sim
