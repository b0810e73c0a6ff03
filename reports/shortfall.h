// reports/shortfall.h -- what a job that does not fit needs, and how much of it there is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/prediction.h"

namespace reports {

/// Of a GPU's memory, or of the host's or the drives where those are short.
struct Shortfall {
  std::int64_t needed = 0, there = 0;
};
Shortfall shortfall_of(const result::Prediction&);

/// "27.3 GB needed, 25.2 GB there (2.1 GB too much)"
std::string shortfall_words(const result::Prediction&);

/// "--recompute full (20.7 s)": a change that makes it fit, and the step with it where it was priced.
std::vector<std::string> mend_words(const result::Prediction&);

/// The same as lines that `first` and `other` begin, the times in a column of their own, or on the next line where the
/// flags are too wide: nothing touches the flags, so that a line can be pasted.
std::string mend_lines(const result::Prediction&, std::string_view first, std::string_view other, int width);

}  // namespace reports
