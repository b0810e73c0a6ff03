// SPDX-License-Identifier: Apache-2.0
#include "reports/memory_line.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace reports {
namespace {

constexpr std::array<std::string_view, 9> kHeights{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

}  // namespace

std::vector<std::int64_t> highest(const std::vector<result::MemoryStep>& steps, Window window, int cells) {
  const double width = (window.to_s - window.from_s) / cells;
  std::vector<std::int64_t> out;
  std::int64_t held = 0;
  std::size_t next = 0;
  const auto before = [&](double instant) { return next < steps.size() && steps[next].at_s < instant; };
  while (before(window.from_s)) held = steps[next++].bytes;
  for (int cell = 0; cell < cells; ++cell) {
    std::int64_t most = held;
    while (before(window.from_s + (cell + 1) * width)) {
      held = steps[next++].bytes;
      most = std::max(most, held);
    }
    out.push_back(most);
  }
  return out;
}

std::string memory_line(const std::vector<std::int64_t>& bytes, std::int64_t capacity, const Style& style) {
  std::string out;
  for (const std::int64_t held : bytes) {
    if (held > capacity) {
      out += inked("!", Ink::red, style);
    } else {
      out += kHeights[static_cast<std::size_t>((held * 8 + capacity - 1) / capacity)];
    }
  }
  return out;
}

}  // namespace reports
