// core/config/launch/megatron.h -- Megatron-LM's arguments, which Megatron-Bridge and NeMo rename.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/launch/export.h"
#include "core/config/launch/import.h"
#include "core/config/launch/shell_variables.h"

namespace config::launch {

void write_megatron(Export&);
/// "--num-layers 80", "--bf16", quoted for a shell where it must be.
std::vector<std::string> flags_of(const Settings& options);

/// Arguments as in a shell script, or saved as YAML. Throws base::InputError.
Settings parse_megatron(const std::string& path, GivenVariables&);
void read_megatron(Import&);

}  // namespace config::launch
