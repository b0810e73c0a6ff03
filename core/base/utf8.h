// core/base/utf8.h -- whether bytes are text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace base {

/// Where the first byte stands that is no UTF-8 (RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF) or
/// is NUL; the size of the text if none is.
std::size_t first_that_is_no_text(std::string_view);

/// Whether a character would break a line or steer a terminal: C0 controls and DEL.
constexpr bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code < 0x20 || code == 0x7f;
}

}  // namespace base
