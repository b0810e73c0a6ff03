// reports/json_object.h -- what every JSON report does alike: maps kept in order, text with two spaces a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/result/prediction.h"

namespace reports {

using Json = nlohmann::ordered_json;

template <class T>
Json object_of(const std::vector<std::pair<std::string, T>>& entries) {
  Json out = Json::object();
  for (const auto& [key, value] : entries) out[key] = value;
  return out;
}

inline Json interval_contributions(const std::vector<result::IntervalContribution>& causes) {
  Json out = Json::array();
  for (const result::IntervalContribution& c : causes) {
    out.push_back({{"cause", c.cause}, {"share", c.share}, {"faster", c.faster}, {"slower", c.slower}});
  }
  return out;
}

/// A strategy's value as a Job file's reader would take it: numbers, truths and lists of numbers as such.
inline Json value_json(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (text.starts_with('[')) return Json::parse(text);
  if (!text.empty() && text.find_first_not_of("0123456789") == text.npos) return std::stoll(text);
  return text;
}

inline Json strategy_json(const std::vector<std::pair<std::string, std::string>>& choices) {
  Json out = Json::object();
  for (const auto& [key, value] : choices) out[key] = value_json(value);
  return out;
}

/// A path in a message may hold any bytes; what is not UTF-8 is replaced rather than refused.
inline std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

}  // namespace reports
