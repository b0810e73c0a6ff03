// real/gpu/staging.h -- page-locked memory through which the host's numbers reach the GPU without being waited for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "real/cuda/pool.h"
#include "real/gpu/waiter.h"

namespace real {

class Staging {
 public:
  static constexpr std::size_t kMost = std::size_t{64} << 20;  // bytes of one piece

  /// `waiter` outlives it.
  explicit Staging(const Waiter& waiter) : waiter_(waiter) {}

  /// Where the host writes up to kMost `bytes`; what was there before has been copied. May wait for an earlier copy.
  void* begin(std::size_t bytes);
  /// What was written goes to `to`, behind all that `stream` has to do.
  void send(void* to, std::size_t bytes, const Stream& stream);

 private:
  struct Slot {
    explicit Slot(std::size_t bytes) : memory(bytes) {}
    PinnedBuffer memory;
    Event copied;
    std::uint64_t sent = 0;  // of all that was
  };
  static constexpr std::size_t kLeast = std::size_t{64} << 10;  // so that small pieces share slots
  static constexpr std::size_t kSlots = 32;  // on their way at once; more only where none of them is large enough

  const Waiter& waiter_;
  std::vector<std::unique_ptr<Slot>> slots_;
  Slot* open_ = nullptr;
  std::uint64_t sent_ = 0;
};

}  // namespace real
