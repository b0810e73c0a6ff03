// SPDX-License-Identifier: Apache-2.0
#include "sim/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/parallel.h"
#include "core/plan/build.h"
#include "core/spec/inputs.h"
#include "sim/analysis/account.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/path_sum.h"
#include "sim/analysis/rerun.h"
#include "sim/memory/footprint.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"

namespace sim {
namespace {

using result::InputEffect;
using spec::Input;

constexpr double kMore = 0.1;
/// Of a central difference: large beside the picoseconds that prices are rounded to, small beside what bends the step.
constexpr double kNearby = 1e-3;

enum class Role { unused, hidden, acts };

struct Found {
  Role role = Role::unused;
  InputEffect effect;
};

/// Elasticities towards less and towards more.
struct Slopes {
  double below = 0, above = 0;
};

/// By how much of itself an input grows: `share`, or up to the most that it can be. Past its whole a tile would be
/// picked that no GPU has.
double growth(const Input& input, double share) { return std::min(share, input.most / input.value - 1); }
double raised(const Input& input, double share) { return input.value * (1 + growth(input, share)); }

/// Towards more there is no slope where there is next to no more of it.
Slopes slopes_of(double below, double grown, double growth) {
  constexpr double kLeast = kNearby / 10;
  return {below, growth < kLeast ? below : grown / growth};
}

/// The step as it is, and what each change of an input makes of it.
class Inquiry {
 public:
  explicit Inquiry(const spec::Job& job) : job_(job), plan_(plan::build(job)), input_(priced(plan_, job)) {
    keep_spans(input_);
    const trace::Trace trace = simulate(plan_, input_);
    prediction_ = account(job, input_, trace, footprints(plan_, job));
    length_ = static_cast<double>(length_of(plan_, job));
    prices_ = work_prices(plan_, job);
    costs_ = costs(plan_, job);
    counts_ = path_counts(job, input_, critical_path(trace, input_), prices_);
  }

  const result::Prediction& prediction() const { return prediction_; }

  Found effect_of(const Input& input) const {
    Found out;
    const Rerun more(job_, plan_, input, raised(input, kMore));
    const Rerun less(job_, plan_, input, input.value * (1 - kMore));
    if (!input_.carrier && costs(more.plan(), more.job()) == costs_ && costs(less.plan(), less.job()) == costs_) {
      return out;
    }
    InputEffect& e = out.effect;
    e.input = input.name;
    e.unit = spec::symbol(input.unit);
    e.value = input.value;
    e.kind = input.kind;
    e.source = input.source;
    e.cause = input.cause;
    e.more = growth(input, kMore);
    e.step_with_more_s = seconds_of(static_cast<double>(more.length()));
    const std::optional<Slopes> exact = along_path(input);
    const Slopes slopes = exact ? *exact : by_differences(input);
    e.exact = exact.has_value();
    e.below = slopes.below;
    e.above = slopes.above;
    e.elasticity = (slopes.below + slopes.above) / 2;
    out.role = e.elasticity == 0 && e.step_with_more_s == seconds_of(length_) ? Role::hidden : Role::acts;
    return out;
  }

 private:
  double seconds_of(double ticks) const { return ticks / trace::kTicksPerSecond; }

  Slopes by_differences(const Input& input) const {
    const auto grown = [&](double value) {
      return static_cast<double>(Rerun(job_, plan_, input, value).length()) - length_;
    };
    const double below = -grown(input.value * (1 - kNearby)) / kNearby;
    return slopes_of(below / length_, grown(raised(input, kNearby)) / length_, growth(input, kNearby));
  }

  /// Nothing where the path is no plain sum, or the input acts by more than prices.
  std::optional<Slopes> along_path(const Input& input) const {
    if (!counts_) return {};
    const Rerun up(job_, plan_, input, raised(input, kNearby));
    const Rerun down(job_, plan_, input, input.value * (1 - kNearby));
    const std::vector<double> above = costs(up.plan(), up.job()), below = costs(down.plan(), down.job());
    if (above.size() != costs_.size() || below.size() != costs_.size()) return {};  // works fell together
    const auto rest = static_cast<std::ptrdiff_t>(prices_.size());
    if (!std::equal(above.begin() + rest, above.end(), costs_.begin() + rest)) return {};
    double lost = 0, gained = 0;
    for (std::size_t w = 0; w < counts_->size(); ++w) {
      const auto count = static_cast<double>((*counts_)[w]);
      lost += count * (costs_[w] - below[w]);
      gained += count * (above[w] - costs_[w]);
    }
    const double step = seconds_of(length_);
    return slopes_of(lost / (kNearby * step), gained / step, growth(input, kNearby));
  }

  const spec::Job& job_;
  plan::Plan plan_;
  EngineInput input_;
  result::Prediction prediction_;
  double length_ = 0;                   // ticks
  std::vector<double> prices_, costs_;  // prices first in costs
  std::optional<std::vector<std::int64_t>> counts_;
};

/// What the input's curve as a whole adds to the interval's width.
void add_interval_share(const result::Prediction& prediction, InputEffect& effect) {
  double all = 0, own = -1;
  for (const result::IntervalContribution& c : prediction.interval_contributions) {
    const double variance = c.faster * c.faster + c.slower * c.slower;
    all += variance;
    if (c.cause == effect.cause) own = variance;
  }
  if (own < 0 || !(all > 0)) {
    effect.cause.clear();
  } else {
    effect.interval_share = own / all;
  }
}

/// Of 10 % more, by the slope or by the step run again: where the two differ, the step bends in between.
double size_of(const InputEffect& e, double step_s) {
  return std::max(std::abs(e.elasticity) * kMore, std::abs(e.step_with_more_s / step_s - 1));
}

}  // namespace

result::Sensitivity sensitivity(const spec::Job& job) {
  const Inquiry inquiry(job);
  result::Sensitivity out;
  const result::Prediction& prediction = inquiry.prediction();
  out.job = prediction.job;
  out.step_time_s = prediction.step_time_s;
  out.fits = prediction.fits;
  out.warnings = prediction.warnings;

  std::vector<Input> inputs = spec::inputs(job);
  out.counts =
      static_cast<int>(std::erase_if(inputs, [](const Input& input) { return input.unit == spec::InputUnit::count; }));
  out.unused = static_cast<int>(std::erase_if(inputs, [](const Input& input) { return !(input.value > 0); }));
  std::vector<Found> found(inputs.size());
  base::parallel_for(inputs.size(), [&](std::size_t i) { found[i] = inquiry.effect_of(inputs[i]); });
  for (Found& one : found) {
    out.unused += one.role == Role::unused;
    out.hidden += one.role == Role::hidden;
    if (one.role != Role::acts) continue;
    add_interval_share(prediction, one.effect);
    out.effects.push_back(std::move(one.effect));
  }
  std::stable_sort(out.effects.begin(), out.effects.end(), [&](const auto& a, const auto& b) {
    return size_of(a, out.step_time_s) > size_of(b, out.step_time_s);
  });
  return out;
}

}  // namespace sim
