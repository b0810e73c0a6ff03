// core/config/nccl_json.h -- the JSON that nccl-tests writes with -J.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/nccl_log.h"

namespace config {

/// {args: ["./all_reduce_perf", ...], config: {nthreads, ngpus, devices: [{hostname}]}, results: [{size, out_of_place:
/// {time, nwrong}, in_place: {...}}]}; other keys are passed over. Throws base::InputError.
std::vector<NcclLog> parse_nccl_json(std::string_view text, const std::string& name);

}  // namespace config
