// core/base/number.h -- a text that is a number and nothing else. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
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

/// A count of things: digits alone, below ten million, so that products of several still fit.
inline std::optional<std::int64_t> count_in(std::string_view text) {
  const auto out = number_in<std::int64_t>(text);
  return out && text.front() != '-' && *out < 10'000'000 ? out : std::nullopt;
}

}  // namespace base
