// reports/style.h -- how wide a text may be, and whether it may have colour. The terminal is known to cli/ alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "reports/layout.h"

namespace reports {

struct Style {
  int columns = kColumns;
  bool colour = false;
};

/// The foreground and background colours of every terminal (ECMA-48, Select Graphic Rendition).
enum class Ink { bold = 1, dim = 2, red = 31, green = 32, yellow = 33, cyan = 36 };

/// The text in that ink where the style has colour, the text itself otherwise.
std::string inked(std::string_view text, Ink, const Style&);

}  // namespace reports
