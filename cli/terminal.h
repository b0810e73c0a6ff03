// cli/terminal.h -- what is known of the terminal: its width, and whether it wants colour.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reports/style.h"

namespace cli {

/// For text on stdout. Columns: $COLUMNS, else the terminal's own, else 100. Colour: on a terminal that is not dumb,
/// unless $NO_COLOR is set (no-color.org); $CLICOLOR_FORCE asks for it elsewhere, too.
reports::Style stdout_style();
/// The same for what goes to stderr.
reports::Style stderr_style();

/// Faults as base::to_string() writes them, "error:" and "mend:" in colour where the style has it.
std::string inked_faults(const std::string& text, const reports::Style&);

}  // namespace cli
