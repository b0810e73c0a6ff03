// core/plan/channel_name.h -- what a channel is for, in the words of Traces, predicted or measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/plan/plan.h"

namespace plan {

std::string_view channel_name(const Channel&);  // "dp", "pp", ...

}  // namespace plan
