// SPDX-License-Identifier: Apache-2.0
#include "reports/html/table.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"
#include "reports/html/escape.h"
#include "reports/layout.h"
#include "reports/quantity.h"

namespace reports::html {
namespace {

std::string head(const Table& table, bool sortable) {
  std::string out = "<thead><tr>";
  for (const Column& column : table.columns) {
    if (!column.shown) continue;
    const std::string title = escaped(column.title);
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"number\"" : "",
                       sortable ? "<button type=\"button\">" + title + "</button>" : title);
  }
  return out + "</tr></thead>";
}

std::string cell_html(const Column& column, const Cell& cell, bool heads_row) {
  std::string marks = column.number ? "number" : "";
  if (!cell.mark.empty()) marks += (marks.empty() ? "" : " ") + cell.mark;
  std::string attributes = marks.empty() ? "" : " class=\"" + escaped(marks) + "\"";
  if (cell.number) attributes += fmt::format(" data-value=\"{}\"", *cell.number);
  const char* element = heads_row ? "th" : "td";
  return fmt::format("<{}{}{}>{}</{}>", element, heads_row ? " scope=\"row\"" : "", attributes, escaped(cell.shown),
                     element);
}

std::string body(const Table& table) {
  std::string out = "<tbody>";
  for (const std::vector<Cell>& row : table.rows) {
    out += "<tr>";
    bool first = true;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!table.columns[i].shown) continue;
      out += cell_html(table.columns[i], row[i], first);
      first = false;
    }
    out += "</tr>\n";
  }
  return out + "</tbody>";
}

}  // namespace

Cell text(std::string_view shown) { return {std::string(shown), std::nullopt, {}}; }
Cell quantity(double si, std::string_view unit) { return {human(si, unit), si, {}}; }
Cell bytes(std::int64_t value) { return quantity(static_cast<double>(value), "B"); }
Cell count(std::int64_t value) { return {base::with_commas(value), static_cast<double>(value), {}}; }
Cell share(double value) { return {percent(value), value, {}}; }
Cell signed_share(double value) { return {fmt::format("{:+.1f} %", value * 100), value, {}}; }
Cell decimal(double value, int digits) { return {fmt::format("{:.{}f}", value, digits), value, {}}; }
Cell none() { return text("–"); }

std::string html_of(const Table& table, bool sortable) {
  std::string out =
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + escaped(table.caption) + "\">";
  out += fmt::format("<table{}><caption>{}</caption>", sortable ? " class=\"sortable\"" : "", escaped(table.caption));
  return out + head(table, sortable) + body(table) + "</table></div>\n";
}

Json rows_of(const Table& table) {
  Json out = Json::array();
  for (const std::vector<Cell>& row : table.rows) {
    Json one = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Column& column = table.columns[i];
      const Cell& cell = row[i];
      if (cell.number && std::isfinite(*cell.number)) {
        one[column.key] = *cell.number;
        one[column.key + "_text"] = cell.shown;
      } else if (column.number) {
        one[column.key] = nullptr;
      } else {
        one[column.key] = cell.shown;
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace reports::html
