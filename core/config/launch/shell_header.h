// core/config/launch/shell_header.h -- what a script asks of Slurm.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/config/launch/shell_words.h"

namespace config::launch {

/// The value of the last "--nodes" or "-N" among options of srun or sbatch, where it is a number and no range.
std::optional<ShellWord> slurm_nodes(std::span<const ShellWord> options);
/// That of the lines which begin with "#SBATCH". `name` stands for the file in places.
std::optional<ShellWord> nodes_of_header(std::string_view text, const std::string& name);

}  // namespace config::launch
