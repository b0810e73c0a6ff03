// reports/csv.h -- cells and columns of tables for spreadsheets.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reports {

using Settings = std::vector<std::pair<std::string, std::string>>;  // key, value

/// Quoted where the text holds a comma, a quote or the end of a line (RFC 4180).
std::string cell(const std::string& text);

/// Of `key`, as a cell; empty where it is not there.
std::string cell_of(const Settings&, std::string_view key);

/// Every key of any row, in the order in which they first come.
template <class Row>
std::vector<std::string> keys_of(const std::vector<Row>& rows, Settings Row::*settings) {
  std::vector<std::string> out;
  for (const Row& row : rows) {
    for (const auto& entry : row.*settings) {
      if (std::find(out.begin(), out.end(), entry.first) == out.end()) out.push_back(entry.first);
    }
  }
  return out;
}

}  // namespace reports
