// reports/shortfall.h -- what a job that does not fit needs, and how much of it there is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/result/prediction.h"

namespace reports {

/// Of a GPU's memory, or of the host's or the drives where those are short.
struct Shortfall {
  std::int64_t needed = 0, there = 0;
};
Shortfall shortfall_of(const result::Prediction&);

/// "27.3 GB needed, 25.2 GB there (2.1 GB too much)"
std::string shortfall_words(const result::Prediction&);

}  // namespace reports
