// tests/core/spec/members.h -- how many members an aggregate has, so that a test notices a new one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

namespace testing_support {

struct Anything {
  template <class T>
  operator T() const;  // never called: only types are looked at
};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}

/// The largest number of initializers that T takes. REQUIRES: an aggregate without bases.
template <class T, std::size_t N = 1>
constexpr std::size_t members() {
  if constexpr (takes<T>(std::make_index_sequence<N>())) {
    return members<T, N + 1>();
  } else {
    return N - 1;
  }
}

}  // namespace testing_support
