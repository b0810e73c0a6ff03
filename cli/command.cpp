// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>

namespace cli {

std::string help_of(const Command& command) {
  std::string usage = "forerun " + command.name;
  for (const Operand& operand : command.operands) {
    usage += " [" + operand.name + "]" + (operand.repeatable ? "..." : "");
  }
  std::string out =
      fmt::format("{}\n\nusage: {}{}\n", command.summary, usage, command.options.empty() ? "" : " [OPTIONS]");

  std::vector<std::pair<std::string, std::string>> rows;
  for (const Operand& operand : command.operands) rows.emplace_back(operand.name, operand.help);
  for (const Option& option : command.options) {
    rows.emplace_back(option.name + (option.value.empty() ? "" : " " + option.value) + (option.repeatable ? "..." : ""),
                      option.help);
  }
  std::size_t width = 0;
  for (const auto& [left, right] : rows) width = std::max(width, left.size());
  out += '\n';
  for (const auto& [left, right] : rows) out += fmt::format("  {:<{}}  {}\n", left, width, right);
  if (!command.notes.empty()) out += '\n' + command.notes;
  return out;
}

}  // namespace cli
