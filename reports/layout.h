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

/// Columns that UTF-8 text takes on a terminal, one for each code point.
int columns(std::string_view text);

/// `text` behind `first`, broken between words so that no line is wider than `width` unless one word is; lines after
/// the first are indented as far as `first` is wide. Ends with a newline.
std::string paragraph(std::string_view first, std::string_view text, int width = kColumns);

/// "Warning: ..." for each, each once, with a line in front where there are any.
std::string warnings_text(std::vector<std::string> warnings, int width = kColumns);

}  // namespace reports
