// real/executor/actions/spread_vocabulary.h -- what the passes of a vocabulary over the stages and those of the chunks
// leave one another (core/plan/vocabulary.h). SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/rank_state.h"

namespace real {

/// The gradient of the looked-up rows outlives the backward of the first chunk, which makes it.
void leave_rows_gradient(RankState&, std::int16_t chunk, std::int32_t microbatch);

}  // namespace real
