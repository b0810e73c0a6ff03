// tests/fuzz/config_fuzzer.cpp -- libFuzzer's entry: `./dev fuzz`.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/config_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
