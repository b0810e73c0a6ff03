// core/config/launch/shell_expansion.h -- what $NAME, ${NAME:-otherwise} and $((...)) stand for in a script.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/config/launch/shell_scanner.h"
#include "core/config/launch/shell_variables.h"

namespace config::launch {

class ShellExpansion {
 public:
  explicit ShellExpansion(const ShellVariables& variables, int nested = 0) : variables_(variables), nested_(nested) {}

  /// From the "$" that comes: the value of $NAME, ${NAME}, ${NAME:-otherwise}, ${NAME:=otherwise}, ${NAME:?words},
  /// ${NAME:+instead}, the same without the colon, and $((...)); anything else stays as it is.
  PlacedText variable(ShellScanner&) const;
  /// Up to the quote that closes a text, which comes then, or the end.
  PlacedText quoted(ShellScanner&, char quote) const;
  /// A number where all is known. What it takes from a branch makes `begin` conditional.
  std::optional<std::int64_t> computed(std::string_view arithmetic, Place& begin) const;

 private:
  PlacedText arithmetic(ShellScanner&, Place begin) const;
  PlacedText expanded(const std::string& text, Place at) const;

  const ShellVariables& variables_;
  int nested_;
};

bool is_name_letter(char);

}  // namespace config::launch
