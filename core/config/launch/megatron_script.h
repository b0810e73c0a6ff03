// core/config/launch/megatron_script.h -- the arguments that a shell script hands to Megatron-LM.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/launch/settings.h"
#include "core/config/launch/shell_variables.h"

namespace config::launch {

/// Beside the options: a list of those that stand inside of an if or a case, or are made of variables set there.
inline constexpr const char* kUnderCondition = " under a condition";
/// Beside the options: a list of what is to be told of the file.
inline constexpr const char* kNotes = " notes";
/// Beside the options: a list of words of the launch that may hold options, of which the text does not tell.
inline constexpr const char* kUnknown = " unknown words";
/// Beside the options: true where CUDA_LAUNCH_BLOCKING is set.
inline constexpr const char* kLaunchBlocking = " launch blocking";
inline constexpr const char* kAsIfItHeld = ": under a condition of the script, taken as if it held";

/// "--tensor_model" as "tensor-model".
std::string dashed(std::string name);

/// Every --option of the script, wherever it stands; the last one counts, as in Python's argparse. Throws
/// base::InputError where the file is no text, or starts several programs with different arguments.
Settings script_options(const std::string& path, GivenVariables&);

}  // namespace config::launch
