// sim/search/more_nodes.h -- where nothing fits: how many more nodes would do. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>

#include "core/spec/search_space.h"

namespace sim {

/// Whether any strategy of the space fits, of `base` as search() takes it. Ends with the first that does.
bool anything_fits(const spec::Job& base, const spec::SearchSpace& space, unsigned threads,
                   const std::atomic<bool>* stop);

/// How many nodes of the same kind it takes until something fits, where nothing fits on those of `base`: the least
/// number on which something does, if no more nodes never make things worse. Nothing where 64 times as many are not
/// enough, where nodes differ, or where `stop` came true before.
std::optional<int> nodes_that_fit(const spec::Job& base, const spec::SearchSpace& space, unsigned threads,
                                  const std::atomic<bool>* stop);

}  // namespace sim
