// SPDX-License-Identifier: Apache-2.0
#include "cli/tree.h"

#include <nlohmann/json.hpp>

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

std::string place(const Value& value, const std::string& file) {
  if (value.where.file == file || value.where.file.empty()) return "\n";
  return "   # " + value.where.file + (value.where.line ? ':' + std::to_string(value.where.line) : "") + '\n';
}

}  // namespace

std::string tree_text(const Value& value, const std::string& file, int indent) {
  const std::string margin(indent, ' ');
  std::string out;
  const auto entry = [&](const std::string& head, const Value& content) {
    out += margin + head;
    if (is_leaf(content)) {
      out += ' ' + scalar_text(content) + place(content, file);
    } else if (content.kind == Value::Kind::list && fits_a_line(content)) {
      out += ' ' + line_text(content) + place(content, file);
    } else {
      out +=
          place(content, file) + tree_text(content, content.where.file.empty() ? file : content.where.file, indent + 2);
    }
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
