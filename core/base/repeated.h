// core/base/repeated.h -- what a user has named more than once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <vector>

namespace base {

/// Where a value stands that stands further ahead as well, in order: 2 and 3 of {a, b, a, a}.
template <class T>
std::vector<std::size_t> repeated(const std::vector<T>& values) {
  std::vector<std::size_t> out;
  std::set<T> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!seen.insert(values[i]).second) out.push_back(i);
  }
  return out;
}

}  // namespace base
