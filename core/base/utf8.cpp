// SPDX-License-Identifier: Apache-2.0
#include "core/base/utf8.h"

#include <cstdint>

namespace base {
namespace {

/// Bytes of the character that begins here; 0 where none does.
std::size_t length_of_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return first != 0 ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  std::uint32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return first < 0xc0 || first > 0xf4 || code < kLeast[length] || surrogate || code > 0x10ffff ? 0 : length;
}

}  // namespace

std::size_t first_that_is_no_text(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = length_of_character(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return at;
}

}  // namespace base
