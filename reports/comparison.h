// reports/comparison.h -- jobs side by side, for people, programs and spreadsheets (docs/compare.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/comparison.h"
#include "reports/style.h"

namespace reports {

/// What fits, best first; then what does not and why; then what was refused and why.
std::string text(const result::Comparison&, const Style& = {});

/// One JSON object, indented, with a newline at its end.
std::string json(const result::Comparison&);

/// RFC 4180 with a header line: one column for each varied field. A number that a row has not is empty.
std::string csv(const result::Comparison&);

/// A Markdown table: step time, exposed communication, bubble, peak memory and what one GPU moves.
std::string markdown(const result::Comparison&);

}  // namespace reports
