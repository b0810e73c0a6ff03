// core/config/launch/shell_text.h -- letters of a script that know where they stand, whichever variable carried them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace config::launch {

struct Place {
  int line = 1, column = 1;
  bool conditional = false;  // the letter there may not be so: see ShellWord
  bool whole = false;        // of what a command tells, which is one word as far as is known
};

struct PlacedText {
  std::string letters;
  std::vector<Place> places;  // one for each letter

  void add(char letter, Place place);
  void add(const PlacedText& other);
  PlacedText from(std::size_t begin) const;
  bool conditional() const;  // any letter is
};

/// All letters at one place: of a text that no line of the script holds as it is.
PlacedText at_one(std::string letters, Place place);
/// The text of a file from its beginning.
PlacedText in_file(std::string_view letters);

}  // namespace config::launch
