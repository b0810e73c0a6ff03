// SPDX-License-Identifier: Apache-2.0
#include "core/config/figure_reader.h"
#include "core/base/number.h"
#include "core/base/text.h"

#include <cmath>

namespace config {

base::Parsed<double> parse_number(std::string_view text) {
  const auto number = base::number_in<double>(text);
  if (number && std::isfinite(*number)) return {number, {}, {}};
  return {{}, base::quoted(text) + " is not a number", "write a number, such as 1.3"};
}

std::string place_text(const base::Where& where) {
  if (where.line == 0) return where.file.empty() ? "the command line" : where.file;
  return where.file + ':' + std::to_string(where.line);
}

const Value* figure_value(const Value& at, const std::string& path, FigureFrom& from, Faults& faults) {
  if (at.kind == Value::Kind::scalar) {
    from.source = place_text(at.where);
    return &at;
  }
  if (at.kind != Value::Kind::map) {
    faults.push_back({path, at.kind == Value::Kind::list ? "a list is not a figure" : "is empty",
                      "write it with its unit, or {value, date, source}", at.where});
    return nullptr;
  }
  MapReader map(at, path, faults);
  const std::size_t before = faults.size();
  std::string text;
  map.require("value", text);
  map.require("date", from.date);
  map.require("source", from.source);
  map.read("seller", from.seller);
  map.finish();
  return faults.size() == before ? at.find("value") : nullptr;
}

}  // namespace config
