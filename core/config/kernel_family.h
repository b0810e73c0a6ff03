// core/config/kernel_family.h -- what kind of work a kernel does, by the name that a profiler gives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace config {

/// In the words of core/plan/family.h; "fill" for memset, "other" where the name tells nothing. `category` is the
/// event's "cat"; `collective` the event's "Collective name", which tells what a kernel such as ncclDevKernel_SendRecv
/// is part of (an all-to-all); empty: not told.
std::string kernel_family(std::string_view category, std::string_view name, std::string_view collective);

}  // namespace config
