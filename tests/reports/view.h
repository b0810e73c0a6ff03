// tests/reports/view.h -- a text view against its golden file, and on narrow screens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string>

#include "reports/style.h"
#include "tests/golden.h"

namespace testing_support {

inline int widest(const std::string& text) {
  std::istringstream lines(text);
  int out = 0;
  for (std::string line; std::getline(lines, line);) out = std::max(out, reports::columns(line));
  return out;
}

/// Every "12", "1,024" and "0.5" of a text.
inline std::multiset<std::string> numbers(const std::string& text) {
  std::multiset<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.' ||
                                 (text[end] == ',' && end > at))) {
      ++end;
    }
    const std::size_t last = text.find_last_not_of(".,", end - 1);
    if (end > at && last != text.npos && last >= at) out.insert(text.substr(at, last + 1 - at));
    at = std::max(end, at + 1);
  }
  return out;
}

/// `view` takes a Style. On 80 and on 60 columns no line is wider, and no number is lost that 100 columns have.
template <class View>
void expect_fits(const View& view) {
  const std::string wide = view(reports::Style{});
  for (const int columns : {80, 60}) {
    const std::string text = view(reports::Style{columns, false});
    EXPECT_LE(widest(text), columns) << text;
    EXPECT_EQ(numbers(text), numbers(wide)) << text;
  }
}

template <class View>
void expect_view(const std::string& golden, const View& view) {
  expect_golden(golden, view(reports::Style{}));
  expect_fits(view);
}

}  // namespace testing_support
