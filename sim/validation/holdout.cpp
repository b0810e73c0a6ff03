// SPDX-License-Identifier: Apache-2.0
#include "sim/validation/holdout.h"

#include <algorithm>
#include <cmath>

#include "sim/validation/accuracy.h"

namespace sim {
namespace {

using result::HoldoutFigures;

constexpr double kSame = 1e-12;  // losses closer than this are a tie

std::vector<double> sizes(const RowGroup& group, const std::vector<double>& errors) {
  std::vector<double> out;
  for (const std::size_t row : group.rows) out.push_back(std::abs(errors[row]));
  return out;
}

HoldoutFigures figures(const RowGroup& group, const std::vector<double>& errors) {
  HoldoutFigures out{.median_abs_error = quantile(sizes(group, errors), 0.5)};
  const double count = static_cast<double>(group.rows.size());
  for (const std::size_t row : group.rows) {
    out.mape += std::abs(errors[row]) / count;
    out.mean_signed_error += errors[row] / count;
  }
  return out;
}

HoldoutFigures mean(const std::vector<result::HoldoutGroup>& groups, HoldoutFigures result::HoldoutGroup::*of) {
  HoldoutFigures out;
  const double count = static_cast<double>(groups.size());
  for (const result::HoldoutGroup& group : groups) {
    const HoldoutFigures& f = group.*of;
    out.median_abs_error += f.median_abs_error / count;
    out.mape += f.mape / count;
    out.mean_signed_error += f.mean_signed_error / count;
  }
  return out;
}

/// Of each choice, the alternatives that are known without the group that is left out.
std::vector<std::vector<std::size_t>> on_offer(const ChoiceSpace& space, const std::vector<RowGroup>& groups,
                                               std::optional<std::size_t> left_out) {
  std::vector<std::vector<std::size_t>> out(space.alternatives.size());
  for (std::size_t c = 0; c < out.size(); ++c) {
    for (std::size_t a = 0; a < space.alternatives[c]; ++a) {
      const bool told = c < space.told_by.size() && !space.told_by[c][a].empty();
      if (!told || !left_out || space.told_by[c][a] != groups[*left_out].name) out[c].push_back(a);
    }
  }
  return out;
}

/// Moves `choice` to its best alternative, the others held. Returns whether it moved.
bool improve(std::size_t choice, const std::vector<std::size_t>& alternatives, Selection& at, double& least,
             const std::function<double(const Selection&)>& loss_of) {
  const std::size_t before = at[choice];
  Selection tried = at;
  for (const std::size_t a : alternatives) {
    tried[choice] = a;
    const double here = a == before ? least : loss_of(tried);
    if (here >= least - kSame) continue;
    least = here;
    at[choice] = a;
  }
  return at[choice] != before;
}

/// Every alternative of every choice, the others as in the catalogue and as `refitted`.
std::vector<result::HoldoutChoice> told_of(const ChoiceSpace& space, const Selection& refitted,
                                           const std::vector<RowGroup>& groups, const ErrorsOf& errors_of) {
  std::vector<result::HoldoutChoice> out;
  const std::vector<double>& present = errors_of(space.present);
  for (std::size_t c = 0; c < refitted.size(); ++c) {
    result::HoldoutChoice& choice = out.emplace_back();
    choice.present = space.present[c];
    choice.in_sample = refitted[c];
    Selection alone = space.present, beside = refitted;
    for (std::size_t a = 0; a < space.alternatives[c]; ++a) {
      alone[c] = beside[c] = a;
      const std::vector<double>& errors = errors_of(alone);
      result::HoldoutAlternative& told = choice.alternatives.emplace_back();
      told.alone = loss(groups, {}, errors);
      told.beside_refit = loss(groups, {}, errors_of(beside));
      for (std::size_t row = 0; row < errors.size(); ++row) told.rows += errors[row] != present[row];
    }
  }
  return out;
}

}  // namespace

double loss(const std::vector<RowGroup>& groups, std::optional<std::size_t> left_out,
            const std::vector<double>& errors) {
  double sum = 0, count = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g == left_out) continue;
    sum += quantile(sizes(groups[g], errors), 0.5);
    ++count;
  }
  return sum / count;
}

Selection refit(const ChoiceSpace& space, const std::vector<RowGroup>& groups, std::optional<std::size_t> left_out,
                const ErrorsOf& errors_of) {
  const auto loss_of = [&](const Selection& at) { return loss(groups, left_out, errors_of(at)); };
  const std::vector<std::vector<std::size_t>> offer = on_offer(space, groups, left_out);
  Selection at = space.present;
  for (std::size_t c = 0; c < at.size(); ++c) {
    if (std::find(offer[c].begin(), offer[c].end(), at[c]) == offer[c].end()) at[c] = offer[c].front();
  }
  double least = loss_of(at);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t c = 0; c < at.size(); ++c) moved |= improve(c, offer[c], at, least, loss_of);
  }
  return at;
}

result::Holdout hold_out(const ChoiceSpace& space, const std::vector<RowGroup>& groups, const ErrorsOf& errors_of) {
  result::Holdout out;
  const Selection all = refit(space, groups, {}, errors_of);
  out.choices = told_of(space, all, groups, errors_of);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Selection others = refit(space, groups, g, errors_of);
    result::HoldoutGroup& told = out.groups.emplace_back();
    told.name = groups[g].name;
    told.rows = static_cast<int>(groups[g].rows.size());
    told.present = figures(groups[g], errors_of(space.present));
    told.in_sample = figures(groups[g], errors_of(all));
    told.held_out = figures(groups[g], errors_of(others));
    for (std::size_t c = 0; c < others.size(); ++c) {
      if (others[c] != space.present[c]) told.changes.push_back({c, others[c]});
    }
  }
  out.present = mean(out.groups, &result::HoldoutGroup::present);
  out.in_sample = mean(out.groups, &result::HoldoutGroup::in_sample);
  out.held_out = mean(out.groups, &result::HoldoutGroup::held_out);
  if (out.in_sample.median_abs_error > 0) out.ratio = out.held_out.median_abs_error / out.in_sample.median_abs_error;
  return out;
}

}  // namespace sim
