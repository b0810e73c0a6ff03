// SPDX-License-Identifier: Apache-2.0
#include "sim/network/fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "sim/network/closed_form.h"
#include "sim/network/knobs.h"

namespace sim {
namespace {

using spec::PathCurve;

constexpr double kNoise = 0.05;    // deviation of one row that is no surprise, of the logarithm
constexpr double kOutlier = 0.15;  // beyond this a row pulls with constant force
constexpr double kPull = 1.5;      // deviation of a constant from its start that is no surprise, of the logarithm
constexpr double kHighestEfficiency = 1.5;  // as the reader of calibration files has it
constexpr double kStep = 1e-4;              // of the numeric derivative
constexpr int kRounds = 200;

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
        if (knob.what == Knob::What::decay || knob.what == Knob::What::local || !offered(knob, curve)) continue;
        if (knob.what == Knob::What::hop && !steps) continue;
        free_.emplace_back(&curve, &knob);
      }
    }
    start_.resize(size());
    for (Eigen::Index i = 0; i < size(); ++i) {
      const auto& [curve, knob] = free_[i];
      start_[i] = std::log(std::max(knob->get(*curve), least_start(*knob)));
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
      if (bounded(*free_[i].second)) at[i] = std::min(at[i], std::log(kHighestEfficiency));
    }
  }
  bool at_bound(const Eigen::VectorXd& at) const {
    for (Eigen::Index i = 0; i < size(); ++i) {
      if (bounded(*free_[i].second) && at[i] >= std::log(kHighestEfficiency) - 1e-9) return true;
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
      at[i] += bounded(*free_[i].second) ? error[largest] : -error[smallest];
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
