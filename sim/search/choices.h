// sim/search/choices.h -- a strategy of a search in the words of a Job file. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/search.h"
#include "core/spec/search_space.h"

namespace sim {

/// Keys without effect are left out. `base`: the search's, whose model and listed layers hold.
result::Choices choices_of(const spec::Job& base, const spec::SearchPoint&);

}  // namespace sim
