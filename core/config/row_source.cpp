// SPDX-License-Identifier: Apache-2.0
#include "core/config/row_source.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/config/json_keys.h"

namespace config {
namespace {

const std::vector<std::string> kSourceKeys{"repo", "path", "commit", "table", "digitised", "key", "line", "url"};

std::string text(const nlohmann::json& map, const char* key) {
  const auto at = map.find(key);
  return at != map.end() && at->is_string() ? at->get<std::string>() : "";
}

}  // namespace

std::string source_of(const TextLines& lines, const nlohmann::json& row) {
  const auto at = row.find("source");
  if (at == row.end() || !at->is_object()) {
    lines.fault(1, "source", "is missing", "write source: {repo, path, commit}");
  }
  refuse_unknown(lines, *at, kSourceKeys, "source.");
  std::string name = text(*at, "repo");
  if (name.empty()) name = text(*at, "url");
  const std::string path = text(*at, "path"), commit = text(*at, "commit");
  if (!path.empty()) name += ' ' + path;
  if (!commit.empty()) name += " @ " + commit.substr(0, std::min<std::size_t>(commit.find(' '), 9));
  return name;
}

}  // namespace config
