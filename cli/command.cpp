// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "reports/layout.h"

namespace cli {
namespace {

/// What stands behind the last two spaces of a line goes on below itself.
std::string notes(const std::string& text, int columns) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t gap = line.rfind("  ");
    const std::size_t begin = gap == line.npos ? 0 : gap + 2;
    out += reports::paragraph(line.substr(0, begin), line.substr(begin), columns);
  }
  return out;
}

/// A command that can be copied as it is shown.
std::string shell_line(const std::string& command, int columns) {
  const std::string margin = "  ";
  if (reports::columns(margin + command) <= columns) return margin + command + '\n';
  std::string out;
  for (const std::string& part : reports::wrapped(command, columns - 6)) {
    out += (out.empty() ? margin : " \\\n    ") + part;
  }
  return out + '\n';
}

}  // namespace

std::string usage_of(const Command& command) {
  std::string usage = "forerun " + command.name;
  for (const Operand& operand : command.operands) {
    usage += " [" + operand.name + "]" + (operand.repeatable ? "..." : "");
  }
  return usage + (command.options.empty() ? "" : " [OPTIONS]");
}

std::string written(const Option& option) { return option.name + (option.value.empty() ? "" : " " + option.value); }

std::string told(const Option& option) {
  const bool tells = !option.repeatable || option.help.ends_with("repeatable");
  return tells ? option.help : option.help + " (repeatable)";
}

std::string help_of(const Command& command, int columns) {
  std::string out = reports::paragraph("", command.summary, columns) + '\n' +
                    reports::paragraph("usage: ", usage_of(command), columns) + '\n';

  std::vector<std::pair<std::string, std::string>> rows;
  for (const Operand& operand : command.operands) rows.emplace_back(operand.name, operand.help);
  for (const Option& option : command.options) {
    rows.emplace_back(written(option), told(option));
  }
  std::size_t width = 0;
  for (const auto& [left, right] : rows) width = std::max(width, left.size());
  for (const auto& [left, right] : rows)
    out += reports::paragraph(fmt::format("  {:<{}}  ", left, width), right, columns);
  if (!command.notes.empty()) out += '\n' + notes(command.notes, columns);
  if (!command.examples.empty()) out += "\nexamples:\n";
  for (const Example& example : command.examples) {
    out += shell_line(example.line, columns) +
           reports::paragraph("      ", example.does + (example.needs.empty() ? "" : " (needs " + example.needs + ")"),
                              columns);
  }
  return out;
}

}  // namespace cli
