// core/base/number.h -- a text that is a number and nothing else. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace base {

/// Nothing: the text is empty, no number, has more behind it, or does not fit T. A double may be infinite or no number.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

}  // namespace base
