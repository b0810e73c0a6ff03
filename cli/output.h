// cli/output.h -- where a subcommand's answer goes: the terminal, or a file that is written beside and renamed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <string>

#include "cli/arguments.h"

namespace cli {

/// Writes to stdout, and notices when that fails (a full disk, a closed pipe). Throws base::InputError then.
void print(const std::string& text);

/// Calls `write` on stdout when `target` is "-", else on a new file that takes the place of `target` only when all of
/// it has been written. Throws base::InputError, naming `option`, when it cannot; what stood there before is then still
/// there. A YAML file that exists gives way to -o and --out alone.
void write_to(const std::string& target, const std::string& option, const std::function<void(std::ostream&)>& write);

/// Writes the text to the file that `option` names, where it was given.
void write_if_asked(const Arguments&, const std::string& option, const std::function<std::string()>& text);

/// Which of the options, each a file to write, has stdout ("-"); empty: none. Throws base::InputError where two have
/// it, or where one would take the place of a YAML file,
/// of a file that the command reads or of another answer.
std::string on_stdout(const Arguments&, std::initializer_list<const char*> options);

}  // namespace cli
