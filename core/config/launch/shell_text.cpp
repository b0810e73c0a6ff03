// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_text.h"

#include <algorithm>
#include <utility>

namespace config::launch {

void PlacedText::add(char letter, Place place) {
  letters += letter;
  places.push_back(place);
}

void PlacedText::add(const PlacedText& other) {
  letters += other.letters;
  places.insert(places.end(), other.places.begin(), other.places.end());
}

PlacedText PlacedText::from(std::size_t begin) const {
  return {letters.substr(begin), {places.begin() + static_cast<std::ptrdiff_t>(begin), places.end()}};
}

bool PlacedText::conditional() const { return std::ranges::any_of(places, &Place::conditional); }

PlacedText at_one(std::string letters, Place place) {
  std::vector<Place> places(letters.size(), place);
  return {std::move(letters), std::move(places)};
}

PlacedText in_file(std::string_view letters) {
  PlacedText out;
  Place at;
  for (const char letter : letters) {
    out.add(letter, at);
    ++at.column;
    if (letter == '\n') at = {at.line + 1, 1};
  }
  return out;
}

}  // namespace config::launch
