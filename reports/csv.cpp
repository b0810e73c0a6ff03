// SPDX-License-Identifier: Apache-2.0
#include "reports/csv.h"

namespace reports {

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string cell_of(const Settings& settings, std::string_view key) {
  const auto at = std::find_if(settings.begin(), settings.end(), [&](const auto& entry) { return entry.first == key; });
  return at == settings.end() ? "" : cell(at->second);
}

}  // namespace reports
