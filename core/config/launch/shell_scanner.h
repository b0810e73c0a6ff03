// core/config/launch/shell_scanner.h -- the letters of a script, one after the other, and what is passed over or taken
// as written, whatever its words mean. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/config/launch/shell_text.h"

namespace config::launch {

/// The nesting beyond which a text is taken as it stands: one that evaluates itself has no end.
inline constexpr int kMostNested = 8;

class ShellScanner {
 public:
  explicit ShellScanner(PlacedText text) : text_(std::move(text)) {}

  bool more(std::size_t ahead = 0) const { return at_ + ahead < text_.letters.size(); }
  char peek(std::size_t ahead = 0) const { return more(ahead) ? text_.letters[at_ + ahead] : '\0'; }
  char next() { return text_.letters[at_++]; }
  /// Of the letter that comes; behind the last one, of that.
  Place place() const;
  /// Where the next letter stands, counted from 0.
  std::size_t at() const { return at_; }
  std::string_view since(std::size_t begin) const { return std::string_view(text_.letters).substr(begin, at_ - begin); }

  /// From the bracket that comes up to the one that closes it, or the end.
  std::string brackets(char opens, char closes);
  /// Likewise "(...)" of a command, whose quotes, comments and here-documents may hold brackets.
  std::string command() { return command(0); }
  /// Up to the end of the line, which comes then.
  void skip_line();
  /// Lines up to one that is `end`, that included.
  void skip_document(const std::string& end);

 private:
  std::string command(int deep);
  std::string rest_of_quotes(char quote, int deep);
  std::string document_end();

  PlacedText text_;
  std::size_t at_ = 0;
};

}  // namespace config::launch
