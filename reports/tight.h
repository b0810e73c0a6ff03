// reports/tight.h -- what stands beside and below a table for what fits with hardly anything to spare.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace reports {

inline constexpr char kTightMark[] = "tight";

/// What the mark means, as a sentence.
std::string tight_words();

}  // namespace reports
