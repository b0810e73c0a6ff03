// SPDX-License-Identifier: Apache-2.0
#include "cli/tree.h"

#include <nlohmann/json.hpp>

#include "reports/layout.h"

namespace cli {
namespace {

using config::Value;
using Json = nlohmann::ordered_json;

Json scalar_json(const Value& value) {
  if (!value.quoted) {
    Json parsed = Json::parse(value.text, nullptr, false);
    if (parsed.is_number() || parsed.is_boolean()) return parsed;
  }
  return value.text;
}

std::string scalar_text(const Value& value) {
  if (value.kind == Value::Kind::null) return "null";
  return value.quoted ? Json(value.text).dump(-1, ' ', false, Json::error_handler_t::replace) : value.text;
}

bool is_leaf(const Value& value) { return value.kind == Value::Kind::scalar || value.kind == Value::Kind::null; }

bool fits_a_line(const Value& list) {
  std::size_t length = 0;
  for (const Value& item : list.items) {
    if (!is_leaf(item)) return false;
    length += item.text.size() + 2;
  }
  return length <= 80;
}

std::string line_text(const Value& list) {
  std::string out;
  for (const Value& item : list.items) out += (out.empty() ? "" : ", ") + scalar_text(item);
  return '[' + out + ']';
}

/// "   # file:line", or nothing where `file` is where it was written.
std::string place(const Value& value, const std::string& file) {
  if (value.where.file == file || value.where.file.empty()) return "";
  return "   # " + value.where.file + (value.where.line ? ':' + std::to_string(value.where.line) : "");
}

std::string entry_text(const std::string& head, const std::string& value, const std::string& place, int columns) {
  std::string out = head + (value.empty() ? "" : ' ' + value);
  if (reports::columns(out + place) <= columns) return out + place + '\n';
  out = value.empty() ? head + '\n' : reports::paragraph(head + ' ', value, columns);
  const std::string margin(head.find_first_not_of(' ') + 2, ' ');
  return place.empty() ? out : out + reports::paragraph(margin + "# ", place.substr(place.find('#') + 2), columns);
}

}  // namespace

std::string tree_text(const Value& value, const std::string& file, int indent, int columns) {
  const std::string margin(indent, ' ');
  std::string out;
  const auto entry = [&](const std::string& head, const Value& content) {
    const bool list = content.kind == Value::Kind::list && fits_a_line(content);
    const std::string shown = is_leaf(content) ? scalar_text(content) : list ? line_text(content) : "";
    out += entry_text(margin + head, shown, place(content, file), columns);
    if (!shown.empty() || is_leaf(content)) return;
    out += tree_text(content, content.where.file.empty() ? file : content.where.file, indent + 2, columns);
  };
  for (const auto& [key, content] : value.entries) entry(key + ':', content);
  for (const Value& item : value.items) entry("-", item);
  return out;
}

Json tree_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null: return nullptr;
    case Value::Kind::scalar: return scalar_json(value);
    case Value::Kind::list: {
      Json out = Json::array();
      for (const Value& item : value.items) out.push_back(tree_json(item));
      return out;
    }
    case Value::Kind::map: {
      Json out = Json::object();
      for (const auto& [key, content] : value.entries) out[key] = tree_json(content);
      return out;
    }
  }
  return nullptr;
}

}  // namespace cli
