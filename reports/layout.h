// reports/layout.h -- pieces that text views share: bars, percentages, wrapped paragraphs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reports {

inline constexpr int kColumns = 100;

/// `share` (0 to 1, cut off outside) of `width` cells, in eighths of a cell; as long as its content, so at most
/// `width`.
std::string bar(double share, int width);

/// The same as a gauge that always fills `width` cells: "███████▌··". More than full ends in "!".
std::string gauge(double share, int width);

/// "74.1 %"
std::string percent(double share);

/// "5.33", "54.4", "1234": three digits of small figures.
std::string megawatt_hours(double joules);

/// Columns that UTF-8 text takes on a terminal, one for each code point; none for its colours (style.h).
int columns(std::string_view text);

/// `text` in lines of at most `width` columns, broken between words, and a word that is wider behind one of its
/// "/_.,=-" or anywhere. One line, empty, where there is no text.
std::vector<std::string> wrapped(std::string_view text, int width);

/// `text` behind `first`, wrapped; lines after the first are indented as far as `first` is wide. Where `first` leaves
/// little room the text begins on the line below it. Ends with a newline.
std::string paragraph(std::string_view first, std::string_view text, int width = kColumns);

/// "Warning: ..." for each, each once, with a line in front where there are any.
std::string warnings_text(std::vector<std::string> warnings, int width = kColumns);

}  // namespace reports
