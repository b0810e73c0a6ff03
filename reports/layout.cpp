// SPDX-License-Identifier: Apache-2.0
#include "reports/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "core/base/money.h"

namespace reports {
namespace {

constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr int kLeastRoom = 30, kBelow = 6;  // columns that a paragraph needs beside its first; its margin below

/// How much of a word wider than `width` columns goes on the first line, in bytes.
std::size_t break_of(std::string_view word, int width) {
  std::size_t end = 0;
  for (int at = 0; at <= width; ++end) at += (word[end] & 0xC0) != 0x80 ? 1 : 0;  // one code point beyond
  for (std::size_t mark = --end; mark > 1; --mark) {
    const bool in_number = std::isdigit(static_cast<unsigned char>(word[mark])) != 0;
    if (std::string_view(in_number ? "/_=-" : "/_.,=-").find(word[mark - 1]) != word.npos) return mark;
  }
  return end;
}

/// The next word of `text`, which loses it and the space behind; "12.9 %" and "64 x" are one.
std::string_view taken_word(std::string_view& text) {
  constexpr std::size_t kLongestUnit = 3;
  std::size_t end = std::min(text.find(' '), text.size());
  const bool is_number = end > 0 && std::isdigit(static_cast<unsigned char>(text[end - 1])) != 0;
  if (is_number && end < text.size()) {
    const std::size_t unit = std::min(text.find(' ', end + 1), text.size());
    if (unit - end - 1 <= kLongestUnit) end = unit;
  }
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

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

std::string megawatt_hours(double joules) {
  const double energy = joules / base::kKilowattHour / 1e3;
  return fmt::format("{:.{}f}", energy, energy < 10 ? 2 : energy < 100 ? 1 : 0);
}

int columns(std::string_view text) {
  int count = 0;
  bool in_colour = false;  // from the escape to the "m"
  for (const char c : text) {
    if (c == '\033') in_colour = true;
    if (!in_colour && (c & 0xC0) != 0x80) ++count;
    if (c == 'm') in_colour = false;
  }
  return count;
}

std::vector<std::string> wrapped(std::string_view text, int width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    std::string_view word = taken_word(text);
    if (word.empty()) continue;
    if (!lines.back().empty() && columns(lines.back()) + 1 + columns(word) > width) lines.emplace_back();
    for (; columns(word) > width; lines.emplace_back()) {  // on a line of its own
      const std::size_t end = break_of(word, width);
      lines.back() += word.substr(0, end);
      word.remove_prefix(end);
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

std::string paragraph(std::string_view first, std::string_view text, int width) {
  int indent = columns(first);
  std::string out(first);
  if (indent > kBelow && indent + std::min(kLeastRoom, columns(text)) > width) {
    indent = kBelow;
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n' + std::string(indent, ' ');
  }
  const std::vector<std::string> lines = wrapped(text, std::max(1, width - indent));
  for (std::size_t i = 0; i < lines.size(); ++i) out += (i ? '\n' + std::string(indent, ' ') : "") + lines[i];
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
