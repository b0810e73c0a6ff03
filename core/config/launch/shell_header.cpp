// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_header.h"

#include <algorithm>
#include <vector>

#include "core/base/number.h"

namespace config::launch {
namespace {

std::vector<ShellWord> split(const std::string& line, const std::string& name, int number) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<ShellWord> out;
  for (std::size_t end = 0;;) {
    const std::size_t begin = line.find_first_not_of(kBlanks, end);
    if (begin == line.npos) return out;
    end = std::min(line.find_first_of(kBlanks, begin), line.size());
    out.push_back({line.substr(begin, end - begin), {name, number, static_cast<int>(begin) + 1}});
  }
}

/// Without what stands in front of the value.
ShellWord value_of(ShellWord word, std::size_t begin) {
  word.text.erase(0, begin);
  if (word.where.line > 0) word.where.column += static_cast<int>(begin);
  return word;
}

}  // namespace

std::optional<ShellWord> slurm_nodes(std::span<const ShellWord> options) {
  std::optional<ShellWord> out;
  const auto take = [&](ShellWord value) {
    if (base::count_in(value.text)) out = std::move(value);
  };
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& word = options[i].text;
    const bool apart = word == "-N" || word == "--nodes";
    if (apart && i + 1 < options.size()) take(options[i + 1]);
    for (const std::string_view joined : {"--nodes=", "-N"}) {
      if (!apart && word.starts_with(joined)) take(value_of(options[i], joined.size()));
    }
  }
  return out;
}

std::optional<ShellWord> nodes_of_header(std::string_view text, const std::string& name) {
  std::optional<ShellWord> out;
  for (int line = 1; !text.empty(); ++line) {
    const std::string now(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), now.size() + 1));
    if (!now.starts_with("#SBATCH")) continue;
    if (std::optional<ShellWord> nodes = slurm_nodes(split(now, name, line))) out = std::move(nodes);
  }
  return out;
}

}  // namespace config::launch
