// cli/other_options.h -- what was meant by an option that a subcommand does not have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace cli {

/// How to mend an unknown option and the value behind it (which may be none of its own): the option for what other
/// tools call so, --set for a key of the Job that has no option, else the option that is spelled most alike.
std::string meant_by(const std::string& option, const std::string& value, const std::vector<Option>& options);

/// How to mend a value behind an option that takes none: "false" is said by leaving the option out.
std::string mend_of_switch(const std::string& option, const std::string& value, const std::vector<Option>& options);

}  // namespace cli
