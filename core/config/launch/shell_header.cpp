// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_header.h"

#include <algorithm>
#include <cctype>

namespace config::launch {

std::optional<ShellWord> nodes_of_header(std::string_view text, const std::string& name) {
  std::optional<ShellWord> out;
  int line = 0;
  while (!text.empty()) {
    std::string now(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), now.size() + 1));
    std::replace(now.begin(), now.end(), '\t', ' ');
    ++line;
    if (!now.starts_with("#SBATCH")) continue;
    for (const std::string_view option : {" --nodes", " -N"}) {
      std::size_t at = now.find(option);
      if (at == now.npos) continue;
      at = now.find_first_not_of(" =", at + option.size());
      const std::size_t end = at == now.npos ? at : now.find_first_not_of("0123456789", at);
      if (at == now.npos || end == at || (end != now.npos && std::isspace(static_cast<unsigned char>(now[end])) == 0))
        continue;
      out = ShellWord{std::string(now.substr(at, end == now.npos ? end : end - at)),
                      {name, line, static_cast<int>(at) + 1}};
    }
  }
  return out;
}

}  // namespace config::launch
