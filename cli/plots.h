// cli/plots.h -- the charts that `forerun plot` draws, and whose command line each takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "reports/html/chart.h"

namespace cli {

struct Plot {
  std::string name;   // "memory-time"
  std::string shows;  // one line of the help
  std::string of;     // whose operands and options it takes: "predict"
  /// Nothing: another process of the launch draws it. Throws base::InputError, as that subcommand does.
  std::optional<reports::html::Chart> (*chart)(const Arguments&);
};

const std::vector<Plot>& plots();

/// The subcommand of that name.
const Command& command_of(const Plot&);

/// Throws base::InputError, with the nearest name.
const Plot& plot_named(const std::string&);

}  // namespace cli
