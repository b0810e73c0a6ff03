// reports/validation.h -- predictions beside measurements: a table for people, one for a README, JSON for programs.
//
//   Measurements   rows refused   median   signed      p90     MAPE   in 80%   memory     fits
//   gpt-paper        23       0    4.1 %   -1.2 %    9.8 %    4.9 %   82.6 %    3.2 %  100.0 %
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result/holdout.h"
#include "core/result/validation.h"
#include "reports/style.h"

namespace reports {

/// A row for each file, for all rows together and for the mean of files; then why cases were refused and which are
/// farthest off. Ends with a newline.
std::string validation_text(const result::Validation&, const Style& = {});

/// The same columns for each group.
std::string grouping_text(const result::ValidationGrouping&, const Style& = {});

/// The table alone, in Markdown, with each file's source.
std::string validation_markdown(const result::Validation&);

/// The keys of docs/validation.md, schema 1. `groupings` are told under "groups" when there are any, cross-validation
/// under "holdout" when there is one.
std::string validation_json(const result::Validation&, const std::vector<result::ValidationGrouping>& groupings = {},
                            const result::Holdout* = nullptr);

}  // namespace reports
