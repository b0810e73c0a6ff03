// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/least_squares.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace sim {
namespace {

constexpr double kOutlier = 0.1;   // of the logarithm: beyond it a row pulls with constant force
constexpr double kStep = 1e-4;     // of the numeric derivative, in the unknown's own scale
constexpr double kSettled = 1e-9;  // share of the loss below which a gain ends the search
constexpr double kStuck = 1e8;     // damping at which no step helps any more
constexpr int kRounds = 60;

double huber(double error) {
  const double a = std::abs(error);
  return a <= kOutlier ? a * a : kOutlier * (2 * a - kOutlier);
}

/// The unknowns on the scale they are moved on: logarithms where so marked.
class Scale {
 public:
  explicit Scale(const std::vector<Unknown>& unknowns) : unknowns_(unknowns) {}

  Eigen::VectorXd start() const {
    Eigen::VectorXd at(size());
    for (Eigen::Index i = 0; i < size(); ++i) at[i] = on(i, unknowns_[i].start);
    return at;
  }
  std::vector<double> values(const Eigen::VectorXd& at) const {
    std::vector<double> out(unknowns_.size());
    for (Eigen::Index i = 0; i < size(); ++i) out[i] = unknowns_[i].logarithmic ? std::exp(at[i]) : at[i];
    return out;
  }
  void clamp(Eigen::VectorXd& at) const {
    for (Eigen::Index i = 0; i < size(); ++i) at[i] = std::clamp(at[i], least(i), most(i));
  }
  double least(Eigen::Index i) const { return on(i, unknowns_[i].least); }
  double most(Eigen::Index i) const { return on(i, unknowns_[i].most); }
  Eigen::Index size() const { return static_cast<Eigen::Index>(unknowns_.size()); }

 private:
  double on(Eigen::Index i, double value) const { return unknowns_[i].logarithmic ? std::log(value) : value; }
  const std::vector<Unknown>& unknowns_;
};

class Descent {
 public:
  explicit Descent(const LeastSquares& problem) : problem_(problem), scale_(problem.unknowns), at_(scale_.start()) {
    errors_ = problem_.errors(scale_.values(at_));
    loss_ = robust_loss(errors_, problem_.weights);
  }

  Minimum run() {
    double damping = 1e-2;
    for (int round = 0; round < kRounds && damping < kStuck; ++round) {
      linearise();
      const double before = loss_;
      while (damping < kStuck && !step(damping)) damping *= 4;
      if (before - loss_ < kSettled * before) break;
      damping = std::max(damping / 5, 1e-9);
    }
    return {scale_.values(at_), loss_};
  }

 private:
  /// Normal equations of the weighted rows here; the weight of an outlier falls with its distance.
  void linearise() {
    const auto rows = static_cast<Eigen::Index>(errors_.size());
    Eigen::MatrixXd jacobian(rows, scale_.size());
    const Eigen::VectorXd here = Eigen::Map<const Eigen::VectorXd>(errors_.data(), rows);
    for (Eigen::Index i = 0; i < scale_.size(); ++i) {
      Eigen::VectorXd beside = at_;
      const double step = at_[i] + kStep <= scale_.most(i) ? kStep : -kStep;
      beside[i] += step;
      const std::vector<double> there = problem_.errors(scale_.values(beside));
      jacobian.col(i) = (Eigen::Map<const Eigen::VectorXd>(there.data(), rows) - here) / step;
    }
    Eigen::VectorXd weight(rows);
    for (Eigen::Index r = 0; r < rows; ++r) {
      const double of_row = problem_.weights.empty() ? 1 : problem_.weights[r];
      weight[r] = of_row * std::min(1.0, kOutlier / std::max(std::abs(here[r]), 1e-12));
    }
    normal_ = jacobian.transpose() * weight.asDiagonal() * jacobian;
    downhill_ = -(jacobian.transpose() * weight.cwiseProduct(here));
    for (Eigen::Index i = 0; i < scale_.size(); ++i) {  // what would leave its bounds rests
      const bool leaves =
          (at_[i] >= scale_.most(i) && downhill_[i] > 0) || (at_[i] <= scale_.least(i) && downhill_[i] < 0);
      if (leaves || normal_(i, i) <= 0) {
        normal_.row(i).setZero();
        normal_.col(i).setZero();
        normal_(i, i) = 1;
        downhill_[i] = 0;
      }
    }
  }

  bool step(double damping) {
    Eigen::MatrixXd damped = normal_;
    damped.diagonal() *= 1 + damping;
    Eigen::VectorXd next = at_ + damped.ldlt().solve(downhill_);
    scale_.clamp(next);
    std::vector<double> errors = problem_.errors(scale_.values(next));
    const double loss = robust_loss(errors, problem_.weights);
    if (!(loss < loss_)) return false;
    at_ = next;
    errors_ = std::move(errors);
    loss_ = loss;
    return true;
  }

  const LeastSquares& problem_;
  Scale scale_;
  Eigen::VectorXd at_, downhill_;
  Eigen::MatrixXd normal_;
  std::vector<double> errors_;
  double loss_ = 0;
};

}  // namespace

bool Minimum::at_bound(const LeastSquares& problem, std::size_t unknown) const {
  const Unknown& one = problem.unknowns[unknown];
  const double room = 1e-6 * (one.most - one.least);
  return values[unknown] <= one.least + room || values[unknown] >= one.most - room;
}

double robust_loss(const std::vector<double>& errors, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t r = 0; r < errors.size(); ++r) sum += (weights.empty() ? 1 : weights[r]) * huber(errors[r]);
  return sum;
}

Minimum minimise(const LeastSquares& problem) { return Descent(problem).run(); }

}  // namespace sim
