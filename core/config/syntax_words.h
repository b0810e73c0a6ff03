// core/config/syntax_words.h -- what a parser's terse verdict means for who wrote the file, and what to do about it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace config {

struct SyntaxWords {
  std::string what, mend;
};

/// In our words where the verdict is a known one; otherwise the parser's own, with a general mend.
/// `line`: the text of the line that the parser stumbled over.
SyntaxWords syntax_words(std::string_view verdict, std::string_view line);

}  // namespace config
