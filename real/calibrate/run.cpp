// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/run.h"

#include <algorithm>

#include "core/base/fault.h"
#include "real/calibrate/cost.h"

namespace real {
namespace {

constexpr double kHeldBack = 1.1;       // points before the last may take longer than was likely
constexpr double kMostHeldBack = 0.75;  // of the budget

class Runner {
 public:
  Runner(Bench& bench, PointsFile& file, base::Seconds budget)
      : bench_(bench), file_(file), begin_(bench.now()), left_(budget) {}

  Progress progress;

  /// False: no time is left for it. `held_back`: of what is left, for others.
  bool fits(const Shape& shape, base::Seconds held_back) const { return likely(shape) <= left_ - passed() - held_back; }
  /// A long run lasts as long as it is told to.
  base::Seconds likely(const Shape& shape) const {
    return std::holds_alternative<Sustained>(shape) ? cost(shape) : cost(shape) * slowness_;
  }
  base::Seconds passed() const { return bench_.now() - begin_; }

  MeasuredPoint time(const Shape& shape) {
    const base::Seconds before = bench_.now();
    const base::Seconds most = std::holds_alternative<Sustained>(shape) ? repetition(shape) : kLongestPoint;
    MeasuredPoint point;
    try {
      std::vector<base::Seconds> samples = bench_.time(shape, std::min(most, left_ - passed()));
      point = summarised(shape, std::move(samples), bench_.condition());
    } catch (const base::DeviceError& error) {
      point = {.shape = shape, .void_because = error.what()};
    }
    learn((bench_.now() - before) / cost(shape));
    file_.append(point);
    ++progress.timed;
    progress.voided += point.void_because.empty() ? 0 : 1;
    progress.took = passed();
    return point;
  }

 private:
  /// Slow points are believed at once, fast ones by and by.
  void learn(double ratio) { slowness_ = std::max(ratio, slowness_ * kForgets + ratio * (1 - kForgets)); }

  static constexpr double kForgets = 0.9;
  Bench& bench_;
  PointsFile& file_;
  base::Seconds begin_, left_;
  double slowness_ = 1;
};

}  // namespace

Progress run(Bench& bench, const std::vector<Point>& points, PointsFile& file, base::Seconds budget,
             const std::function<void(const Progress&, const MeasuredPoint&)>& told) {
  Runner runner(bench, file, budget);
  base::Seconds held_back;
  for (const Point& point : points) {
    if (point.last && !file.has(point.shape)) held_back += runner.likely(point.shape) * kHeldBack;
  }
  if (held_back > budget * kMostHeldBack) held_back = {};  // short budgets are for the others
  for (const bool last : {false, true}) {
    for (const Point& point : points) {
      if (point.last != last) continue;
      if (file.has(point.shape)) {
        ++runner.progress.known;
      } else if (!runner.fits(point.shape, last ? base::Seconds{} : held_back)) {
        ++runner.progress.left;
      } else {
        const MeasuredPoint timed = runner.time(point.shape);
        if (told) told(runner.progress, timed);
      }
    }
  }
  return runner.progress;
}

}  // namespace real
