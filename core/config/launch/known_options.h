// core/config/launch/known_options.h -- whether a file is one of a framework's at all: by the names of its options.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/launch/import.h"

namespace config::launch {

/// Options that the table's keys are read from.
std::vector<std::string> options_of_keys(const Correspondence&);
/// Whether the table says anything of the option, be it that no Job has it.
bool knows(const Correspondence&, std::string_view option);

/// Throws base::InputError when the framework knows not one option of the file, naming what `forerun import` would
/// rather read it as. REQUIRES: keys were read, and what is left was not accounted for.
void refuse_strange(const Import&, const std::string& path);

}  // namespace config::launch
