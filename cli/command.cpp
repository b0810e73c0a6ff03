// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>

namespace cli {

std::string usage_of(const Command& command) {
  std::string usage = "forerun " + command.name;
  for (const Operand& operand : command.operands) {
    usage += " [" + operand.name + "]" + (operand.repeatable ? "..." : "");
  }
  return usage + (command.options.empty() ? "" : " [OPTIONS]");
}

std::string written(const Option& option) {
  return option.name + (option.value.empty() ? "" : " " + option.value) + (option.repeatable ? "..." : "");
}

std::string help_of(const Command& command) {
  std::string out = fmt::format("{}\n\nusage: {}\n", command.summary, usage_of(command));

  std::vector<std::pair<std::string, std::string>> rows;
  for (const Operand& operand : command.operands) rows.emplace_back(operand.name, operand.help);
  for (const Option& option : command.options) {
    rows.emplace_back(written(option), option.help);
  }
  std::size_t width = 0;
  for (const auto& [left, right] : rows) width = std::max(width, left.size());
  out += '\n';
  for (const auto& [left, right] : rows) out += fmt::format("  {:<{}}  {}\n", left, width, right);
  if (!command.notes.empty()) out += '\n' + command.notes;
  if (!command.examples.empty()) out += "\nexamples:\n";
  for (const Example& example : command.examples) {
    out += fmt::format("  {}\n      {}{}\n", example.line, example.does,
                       example.needs.empty() ? "" : " (needs " + example.needs + ")");
  }
  return out;
}

}  // namespace cli
