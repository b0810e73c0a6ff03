// core/base/fnv.h -- a hash that is the same on every machine and in every build. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace base {

/// FNV-1a of 64 bits, begun or continued (Fowler, Noll and Vo; RFC 9923). Not for what an enemy may choose.
inline constexpr std::uint64_t kFnvBasis = 14695981039346656037ull;
constexpr std::uint64_t fnv1a(unsigned char byte, std::uint64_t hash) { return (hash ^ byte) * 1099511628211ull; }
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = kFnvBasis) {
  for (const char c : text) hash = fnv1a(static_cast<unsigned char>(c), hash);
  return hash;
}

}  // namespace base
