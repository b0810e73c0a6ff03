// cli/gpu_counts.h -- numbers of GPUs as a user writes them: "8..16384" (doubling) or "8,16,24".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cli {

/// Ascending, each once. A range doubles from its first number and ends with its last one. Throws base::InputError,
/// naming `option`.
std::vector<int> gpu_counts(const std::string& text, const std::string& option);

}  // namespace cli
