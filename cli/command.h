// cli/command.h -- what a subcommand is: one file each, listed in main.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace cli {

/// Tests run every example, but those that need something first, in a folder of their own.
struct Example {
  std::string line;        // "forerun list models"
  std::string does;        // what it answers
  std::string needs = {};  // "logs of nccl-tests"; empty: runs as it stands
};

struct Command {
  std::string name;
  std::string summary;            // one line of `forerun --help`
  std::vector<Operand> operands;  // each may be left out
  std::vector<Option> options = {};
  std::string notes = {};  // shown below the options, wrapped line by line; may be empty
  std::vector<Example> examples = {};
  int (*run)(const Arguments&) = nullptr;  // the exit code; throws base::InputError
};

extern const Command predict, compare, search, purchase, scale, fit, explain, calibrate, validate, export_job,
    import_logs, measure, plot, list, show, completion;

/// All of them, in the order of `forerun --help`; defined in main.cpp.
std::vector<const Command*> commands();

/// "forerun predict [JOB] [OPTIONS]"
std::string usage_of(const Command&);
/// "--json FILE", "--set PATH=VALUE"
std::string written(const Option&);
/// Its help, and that it may be given again where it may.
std::string told(const Option&);

/// The text of `forerun NAME --help`, in lines of at most `columns`; an example that is longer goes on behind a "\".
std::string help_of(const Command&, int columns);

}  // namespace cli
