// core/config/figure_reader.h -- a number with who said it and when: {value: $6.16/h, date: 2026-09-20, source: "..."},
// of a price also whose offer it is (seller). Bare, as a user writes it in a plan, it is the plan's own word.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/base/money.h"
#include "core/base/text.h"
#include "core/config/map_reader.h"
#include "core/spec/purchase.h"

namespace config {

/// Reads a plain number as base::parse_seconds() reads a time.
base::Parsed<double> parse_number(std::string_view);

/// Where a bare figure was written, for people: "plan.yaml:12", "--set ownership.pue=1.2".
std::string place_text(const base::Where&);

/// A figure but for its number.
struct FigureFrom {
  std::string date, source, seller;
};
/// The figure's value: itself, or `value` of its map, whose date and source are then required. Null: a fault was noted.
const Value* figure_value(const Value& at, const std::string& path, FigureFrom&, Faults&);

/// `at`, in words of its unit, between `least` and `most`; `range` says what may be written: "more than 0".
template <class T>
bool read_figure(const Value& at, const std::string& path, base::Parsed<T> (*parse)(std::string_view), const T& least,
                 const T& most, const std::string& range, spec::Figure<T>& out, Faults& faults) {
  FigureFrom from;
  const Value* value = figure_value(at, path, from, faults);
  if (value == nullptr) return false;
  base::Parsed<T> parsed = parse(value->text);
  if (parsed.value && !(*parsed.value >= least && *parsed.value <= most)) {
    parsed = {{}, base::quoted(value->text) + " is out of range", "write " + range};
  }
  if (!parsed.value) {
    faults.push_back({path, std::move(parsed.problem), std::move(parsed.mend), value->where});
    return false;
  }
  out = {*parsed.value, std::move(from.date), std::move(from.source), std::move(from.seller)};
  return true;
}

}  // namespace config
