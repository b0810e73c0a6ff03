// core/config/other_key_names.h -- what other tools call the keys of a Job's training and strategy: far from ours by
// letters, so that edit distance would offer another key (dp_size is not vpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace config {

/// "strategy.tp" of tensor_parallel, tensor-model-parallel-size or TP_size; empty where it is nobody's name.
std::string_view job_key_elsewhere_called(std::string_view name);

}  // namespace config
