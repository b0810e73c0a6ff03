// reports/row_names.h -- what rows of a comparison are called, wherever they are shown.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/comparison.h"

namespace reports {

/// "tp" for "strategy.tp", but the whole path where another varied one ends alike.
std::string short_name(const std::string& path, const result::ComparisonRow&);

/// "zero-bubble" of "validation/published/zero-bubble.yaml"
std::string stem(const std::string& path);

/// "a.yaml: tp 4, pp 2"
std::string what_differs(const result::ComparisonRow&, bool several_jobs);

/// The largest category of the fullest stage, as far as the prediction tells.
std::string why_it_does_not_fit(const result::Prediction&);

}  // namespace reports
