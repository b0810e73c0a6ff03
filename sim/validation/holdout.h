// sim/validation/holdout.h -- cross-validation of choices between models. Each group of rows (a source, a kind of GPU)
// is left out in turn, the choices are made again on the others, and the group is predicted with what they chose: a
// choice that only mends its own source shows as an error there that is larger than the in-sample one.
//
// The choices are made by coordinate descent on
//   loss = mean over groups of (median of |predicted / measured - 1| over the group's rows)
// the weighting of summary.macro: one choice after the other takes the alternative of least loss, the present one on a
// tie, until a whole round changes nothing. That is the least loss of all combinations where no row sees two choices
// and each group's rows see at most one; otherwise it may stop at a combination that no single change makes better.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result/holdout.h"

namespace sim {

/// The alternative of each choice, by position.
using Selection = std::vector<std::size_t>;

/// Rows that are left out together.
struct RowGroup {
  std::string name;
  std::vector<std::size_t> rows;
};

/// predicted / measured - 1 of every row; the reference stays good while the function lives.
using ErrorsOf = std::function<const std::vector<double>&(const Selection&)>;

/// What there is to choose from, and what the catalogue has.
struct ChoiceSpace {
  std::vector<std::size_t> alternatives;  // of each choice: how many
  Selection present;
  /// Of each choice's alternatives, the group that alone tells of it: without that group it cannot be chosen. Empty:
  /// others tell of it too. No list: of none.
  std::vector<std::vector<std::string>> told_by = {};
};

/// The loss above over all groups but `left_out`. REQUIRES: another group than that.
double loss(const std::vector<RowGroup>&, std::optional<std::size_t> left_out, const std::vector<double>& errors);

/// Coordinate descent from the present selection; where that is not on offer, from the first alternative that is.
/// REQUIRES: of each choice an alternative that the group left out does not tell of alone.
Selection refit(const ChoiceSpace&, const std::vector<RowGroup>&, std::optional<std::size_t> left_out, const ErrorsOf&);

/// Leaves each group out in turn. Names of choices and alternatives are left empty. REQUIRES: at least two groups.
result::Holdout hold_out(const ChoiceSpace&, const std::vector<RowGroup>&, const ErrorsOf&);

}  // namespace sim
