// reports/sensitivity.h -- what the step time owes to each input, for people and for programs (docs/explain.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/sensitivity.h"
#include "reports/style.h"

namespace reports {

/// The table that `forerun explain --sensitivity` prints, the largest effect first; what shows as zero is only counted.
std::string text(const result::Sensitivity&, const Style& = {});

/// One JSON object with every input that acts, indented, with a newline at its end.
std::string json(const result::Sensitivity&);

/// A line an input, a header line first; texts in double quotes.
std::string csv(const result::Sensitivity&);

}  // namespace reports
