// cli/command.h -- what a subcommand is: one file each, listed in main.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace cli {

struct Command {
  std::string name;
  std::string summary;            // one line of `forerun --help`
  std::vector<Operand> operands;  // each may be left out
  std::vector<Option> options;
  std::string notes;                       // shown below the options; may be empty
  int (*run)(const Arguments&) = nullptr;  // the exit code; throws base::InputError
};

extern const Command predict, compare, search, purchase, scale, fit, explain, calibrate, validate, export_job,
    import_logs, measure, list, show;

/// The text of `forerun NAME --help`.
std::string help_of(const Command&);

}  // namespace cli
