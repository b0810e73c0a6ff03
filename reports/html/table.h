// reports/html/table.h -- rows of a report: shown as a table that sorts and filters, and drawn by the chart beside it,
// so that the two never differ. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/json_object.h"

namespace reports::html {

struct Cell {
  std::string shown;
  std::optional<double> number;  // what it sorts by and what a chart draws, SI; empty: text
  std::string mark;              // class of the cell, for its colour: "good" "bad"; may be empty
};

Cell text(std::string_view);
/// "12.3 ms" for 0.0123 and "s"; `unit` as in reports/quantity.h.
Cell quantity(double si, std::string_view unit);
Cell bytes(std::int64_t);
Cell count(std::int64_t);   // "6,593"
Cell share(double);         // "74.1 %"
Cell signed_share(double);  // "+3.2 %"
Cell decimal(double, int digits);
Cell none();  // a dash: nothing is known

struct Column {
  std::string key;    // the field's name in a chart
  std::string title;  // with its unit where cells have none
  bool number = false;
  bool shown = true;  // false: for the chart alone
};

struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// <table> with a head; the first cell of a row heads it. `sortable`: heads become buttons, and a field above filters.
std::string html_of(const Table&, bool sortable = false);

/// [{"key": 1.5, "key_text": "1.5 s", ...}, ...]; text has its key alone, what is unknown is null.
Json rows_of(const Table&);

}  // namespace reports::html
