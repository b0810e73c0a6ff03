// core/config/launch/shell_header.h -- what a batch script asks of Slurm in lines that the shell does not read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/config/launch/shell_words.h"

namespace config::launch {

/// The number behind "#SBATCH --nodes" or -N; nothing where it is a range. `name` stands for the file in places.
std::optional<ShellWord> nodes_of_header(std::string_view text, const std::string& name);

}  // namespace config::launch
