// sim/search/findings.h -- what one process of a search has found, as bytes for the one that makes the answer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/spec/search_space.h"
#include "sim/search/leaders.h"

namespace sim {

/// Of each key, how many strategies have which value.
using ValueCounts = std::array<std::map<spec::SearchValue, std::int64_t>, spec::kSearchKeys>;
void add_counts(ValueCounts& to, const ValueCounts& more);

struct Findings {
  std::int64_t strategies = 0, fits = 0, priced = 0, bounded = 0, unwanted = 0, operator_level = 0;
  bool complete = true;
  ValueCounts values;
  std::vector<Standing> standings;  // the best ones and the front
  std::vector<Standing> nearest;    // where nothing fits: at most one, without a time

  bool operator==(const Findings&) const = default;
};

/// Numbers in decimals, times bit by bit.
std::string encoded(const Findings&);
/// REQUIRES: text that encoded() of the same program made.
Findings decoded(const std::string&);

}  // namespace sim
