// sim/search/answer.h -- the answer of a search, from the best of what it has found: these again at operator level, in
// order, with what they cost, the front of time against memory and which values were tried.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/result/search.h"
#include "core/spec/search_space.h"
#include "sim/search/findings.h"
#include "sim/search/leaders.h"
#include "sim/search/search.h"

namespace sim {

/// What was asked.
struct SearchQuestion {
  const spec::Job& base;
  const spec::SearchSpace& space;
  const SearchOptions& options;
  unsigned threads = 1;
};

/// Fills all of `out` but the counts of strategies. `nearest`: told where nothing fits. `tried`: of each key, how many
/// strategies had which value.
void answer(const SearchQuestion&, const Leaders&, const std::optional<Standing>& nearest, const ValueCounts& tried,
            result::Search& out);

}  // namespace sim
