// core/spec/names.h -- how a Job file spells the values of an enumeration. The spellings stand beside the enumeration
// and nowhere else: readers, messages, searches, titles, exports, help and completion take them from there.
//
//   enum class CpKind { ring, all_gather, ulysses };
//   template <>
//   inline constexpr auto kNamesOf<CpKind> = spelt("ring", "all_gather", "ulysses");
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace spec {

template <class... Words>
constexpr std::array<std::string_view, sizeof...(Words)> spelt(Words... words) {
  return {words...};
}

/// In the order of the enumerators.
template <class E>
inline constexpr auto kNamesOf = spelt();

template <class E>
concept Named = !kNamesOf<E>.empty();

/// "all_gather"
template <Named E>
constexpr std::string_view name(E value) {
  return kNamesOf<E>.at(static_cast<std::size_t>(value));
}

/// The value of that name; nothing where none has it.
template <Named E>
constexpr std::optional<E> named(std::string_view word) {
  for (std::size_t i = 0; i < kNamesOf<E>.size(); ++i) {
    if (kNamesOf<E>[i] == word) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace spec
