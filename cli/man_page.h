// cli/man_page.h -- forerun(1), made of what the subcommands declare, as their --help is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace cli {

/// In the macros of man(7). Options that several subcommands share are told once.
std::string man_page(const std::vector<const Command*>&, const std::string& version);

}  // namespace cli
