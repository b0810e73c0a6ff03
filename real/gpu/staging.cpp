// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/staging.h"

#include <algorithm>
#include <bit>

namespace real {

/// Sizes are powers of two, so that what is sent again finds a slot. Nothing is freed before the end: that waits for
/// the whole device.
void* Staging::begin(std::size_t bytes) {
  open_ = nullptr;
  Slot* first_sent = nullptr;
  for (const auto& slot : slots_) {
    if (slot->memory.bytes() < bytes) continue;
    if (first_sent == nullptr || slot->sent < first_sent->sent) first_sent = slot.get();
  }
  if (first_sent != nullptr && (slots_.size() >= kSlots || cudaEventQuery(first_sent->copied.get()) == cudaSuccess)) {
    open_ = first_sent;
    waiter_.until(open_->copied);
  } else {
    const std::size_t size = std::bit_ceil(std::max(bytes, kLeast));
    open_ = slots_.emplace_back(std::make_unique<Slot>(size)).get();
  }
  return open_->memory.data();
}

void Staging::send(void* to, std::size_t bytes, const Stream& stream) {
  check(cudaMemcpyAsync(to, open_->memory.data(), bytes, cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  open_->copied.record(stream);
  open_->sent = ++sent_;
}

}  // namespace real
