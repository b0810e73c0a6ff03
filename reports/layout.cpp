// SPDX-License-Identifier: Apache-2.0
#include "reports/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace reports {
namespace {

constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

}  // namespace

std::string bar(double share, int width) {
  const double bounded = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  const int eighths = static_cast<int>(std::lround(bounded * width * 8));
  std::string text;
  for (int cell = 0; cell < eighths / 8; ++cell) text += "█";
  return text += kEighths[eighths % 8];
}

std::string gauge(double share, int width) {
  std::string text = bar(share, width);
  for (int at = columns(text); at < width; ++at) text += "·";
  return share > 1 ? text + "!" : text;
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

int columns(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string paragraph(std::string_view first, std::string_view text, int width) {
  const int indent = columns(first);
  std::string out(first);
  int at = indent;
  bool line_is_empty = true;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == text.npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!line_is_empty && at + 1 + columns(word) > width) {
      out += '\n' + std::string(indent, ' ');
      at = indent;
      line_is_empty = true;
    }
    if (!line_is_empty) {
      out += ' ';
      ++at;
    }
    out += word;
    at += columns(word);
    line_is_empty = false;
  }
  return out += '\n';
}

std::string warnings_text(std::vector<std::string> warnings, int width) {
  std::sort(warnings.begin(), warnings.end());
  warnings.erase(std::unique(warnings.begin(), warnings.end()), warnings.end());
  std::string out = warnings.empty() ? "" : "\n";
  for (const std::string& warning : warnings) out += paragraph("Warning: ", warning, width);
  return out;
}

}  // namespace reports
