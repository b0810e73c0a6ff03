// reports/search.h -- the best strategies, for people, programs and spreadsheets (docs/search.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/result/search.h"
#include "reports/style.h"

namespace reports {

/// The best ones and who is tied with the first, the front of time against memory, what was looked at and what was not.
std::string text(const result::Search&, const Style& = {});

/// "12 the framework's launcher cannot say, "; empty for 0.
std::string unwanted_words(std::int64_t unwanted);

/// One JSON object, indented, with a newline at its end.
std::string json(const result::Search&);

/// RFC 4180 with a header line: a row for each result, a column for each key of a strategy.
std::string csv(const result::Search&);

}  // namespace reports
