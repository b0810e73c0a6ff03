// kernels/philox.h -- random numbers from a counter: the i-th of a stream is had without the others, on a CPU and on a
// GPU alike, so that a mask can be made again instead of being kept. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/host_device.h"

namespace kernels {

struct Four {
  std::uint32_t word[4];
};

/// Philox 4x32-10: four random words of the counter under the key. Source: Salmon, Moraes, Dror and Shaw, "Parallel
/// random numbers: as easy as 1, 2, 3", SC 2011.
KERNELS_HOST_DEVICE constexpr Four philox(std::uint64_t key, std::uint64_t counter) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  Four c{{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xD2511F53ull * c.word[0], b = 0xCD9E8D57ull * c.word[2];
    c = Four{{static_cast<std::uint32_t>(b >> 32) ^ c.word[1] ^ k0, static_cast<std::uint32_t>(b),
              static_cast<std::uint32_t>(a >> 32) ^ c.word[3] ^ k1, static_cast<std::uint32_t>(a)}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

}  // namespace kernels
