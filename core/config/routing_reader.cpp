// SPDX-License-Identifier: Apache-2.0
#include "core/config/routing_reader.h"
#include "core/base/number.h"
#include "core/base/text.h"

#include <string>

namespace config {
namespace {

constexpr double kMostCounted = 1e15;
constexpr const char* kMendCounts =
    "write tokens by expert, such as [812, 790, 805, 689], the path of a file with them, or round_robin";

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  constexpr std::string_view between = ", \t\r\n;";
  for (std::size_t at = text.find_first_not_of(between); at != std::string_view::npos;
       at = text.find_first_not_of(between, at)) {
    const std::size_t end = std::min(text.find_first_of(between, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

bool read_count(std::string_view word, double& out) {
  out = base::number_in<double>(word).value_or(-1);
  return out >= 0 && out <= kMostCounted;
}

}  // namespace

void read_routing(MapReader& map, std::string_view key, std::vector<double>& counts, bool& round_robin) {
  const Value* value = map.child(key);
  if (!value) return;
  round_robin = value->kind == Value::Kind::scalar && value->text == "round_robin";
  if (round_robin) return;
  Value file;
  if (value->kind == Value::Kind::scalar) {
    try {
      file = load(value->text);
    } catch (const base::InputError& error) {
      const base::Fault& first = error.faults.front();
      return map.fault(key, base::quoted(value->text) + " as a file: " + first.what, kMendCounts);
    }
    value = &file;
  }
  std::vector<std::string> words;
  if (value->kind == Value::Kind::list) {
    for (const Value& item : value->items) words.push_back(item.text);
  } else if (value->kind == Value::Kind::scalar) {
    words = words_of(value->text);
  }
  if (words.empty()) return map.fault(key, "holds no counts", kMendCounts);
  std::vector<double> read;
  for (const std::string& word : words) {
    double count = 0;
    if (!read_count(word, count)) return map.fault(key, base::quoted(word) + " is no count of tokens", kMendCounts);
    read.push_back(count);
  }
  counts = std::move(read);
}

}  // namespace config
