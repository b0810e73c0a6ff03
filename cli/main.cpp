// cli/main.cpp -- forerun SUBCOMMAND ...: the list of subcommands and the exit codes.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/man_page.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/base/heap.h"
#include "core/base/near_names.h"
#include "core/base/text.h"
#include "reports/layout.h"

namespace cli {
namespace {

const std::array kCommands{&predict,   &compare,  &search,     &purchase,    &scale,   &fit,  &explain, &plot,
                           &calibrate, &validate, &export_job, &import_logs, &measure, &list, &show,    &completion};

std::string help(int columns) {
  using reports::paragraph;
  std::string out = paragraph(
      "", "forerun predicts the time and memory of a training step of a large model on a GPU cluster.", columns);
  out += "\nusage: forerun SUBCOMMAND [OPTIONS]\n\n";
  for (const Command* command : kCommands) {
    out += paragraph(fmt::format("  {:<11}", command->name), command->summary, columns);
  }
  return out + '\n' +
         paragraph("",
                   "`forerun SUBCOMMAND --help` shows its options, `forerun help --man` all of it as a manual page; "
                   "`forerun --version` the version.",
                   columns) +
         paragraph("exit codes: ", "0 answered, 1 answered \"does not fit\", 2 the input is wrong, 3 the device failed",
                   columns);
}

const Command& command_named(const std::string& name) {
  std::vector<std::string> known;
  for (const Command* command : kCommands) {
    if (command->name == name) return *command;
    known.push_back(command->name);
  }
  throw base::InputError({{name,
                           name.starts_with("-") ? "there is no such option" : "there is no such subcommand",
                           base::nearest_or(name, known, "`forerun --help` shows all"),
                           {}}});
}

bool asks_for_help(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") return true;
  }
  return false;
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) {
    std::cerr << help(stderr_style().columns);
    return kInputIsWrong;
  }
  const std::string& first = words.front();
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (first == "--version") {
    print("forerun " FORERUN_VERSION "\n");
  } else if (first == "--help" || first == "-h" || (first == "help" && rest.empty())) {
    print(help(stdout_style().columns));
  } else if (first == "help" && rest.front() == "--man") {
    print(man_page(commands(), FORERUN_VERSION));
  } else if (first == "help") {
    print(help_of(command_named(rest.front()), stdout_style().columns));
  } else {
    const Command& command = command_named(first);
    if (!asks_for_help(rest)) return command.run(parse(rest, command.operands, command.options));
    print(help_of(command, stdout_style().columns));
  }
  return kAnswered;
}

/// Tells why and returns the exit code.
int failed(const std::string& why, int exit_code) {
  std::cerr << inked_faults(why, stderr_style());
  return exit_code;
}

}  // namespace

std::vector<const Command*> commands() { return {kCommands.begin(), kCommands.end()}; }

}  // namespace cli

int main(int argc, char** argv) {
  base::keep_freed_memory();
  try {
    return cli::run({argv + 1, argv + argc});
  } catch (const base::InputError& error) {
    return cli::failed(error.what(), cli::kInputIsWrong);
  } catch (const base::DeviceError& error) {
    return cli::failed(std::string("error: ") + error.what(), cli::kDeviceFailed);
  } catch (const std::bad_alloc&) {
    return cli::failed(
        "error: there is not enough memory on this machine for this job\n  mend: without --unfold it needs less",
        cli::kInputIsWrong);
  } catch (const std::exception& error) {
    return cli::failed(std::string("error: forerun itself is wrong, please report it: ") + error.what(),
                       cli::kOurMistake);
  }
}
