// sim/validation/accuracy.h -- how far predictions are from measurements: the figures of core/result/validation.h, each
// a pure function of the rows. docs/validation.md says what they mean. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result/validation.h"

namespace sim {

using Rows = std::vector<const result::ValidationCase*>;

/// Pointers to all cases of the files.
Rows rows_of(const std::vector<result::ValidationFile>&);

result::ValidationSummary summary_of(const Rows&);

/// Each figure averaged over the files with at least five rows behind it (for kendall_tau: a ranking).
result::ValidationMacro macro_of(const std::vector<result::ValidationFile>&);

/// Groups of equal model and cluster with at least four rows, in order of first appearance.
std::vector<result::Ranking> rankings_of(const Rows&);

/// Rows behind a file's or a group's share in an average over them.
inline constexpr int kFewestRowsOfGroup = 5;

/// What rows can be grouped by: source gpu tp pp ...
std::vector<std::string> grouping_keys();

/// The rows by their label of `key`, in order of labels, numbers in numeric order; "tp+pp" takes both at once and is
/// labelled "4 + 2". A case that could not be read has no labels and stands under "?". REQUIRES: every part of `key` is
/// one of grouping_keys().
std::vector<std::pair<std::string, Rows>> rows_by(const std::vector<result::ValidationFile>&, const std::string& key);

/// The same groups, the one whose mean error is farthest from zero first, equal ones by label.
result::ValidationGrouping grouped(const std::vector<result::ValidationFile>&, const std::string& key);

/// The value below which the share `q` of the sample lies, between two values by linear interpolation. REQUIRES: not
/// empty.
double quantile(std::vector<double> sample, double q);

/// Kendall's tau-b of pairs (x, y): concordant less discordant pairs, over the geometric mean of those not tied in x
/// and those not tied in y (Kendall, "The treatment of ties in ranking problems", Biometrika 33(3), 1945). 0 when all x
/// or all y are equal.
double kendall_tau(const std::vector<std::pair<double, double>>&);

}  // namespace sim
