// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/staging.h"

#include <algorithm>

namespace real {

void* Staging::begin(std::size_t bytes) {
  open_ = nullptr;
  for (const auto& slot : slots_) {
    if (slot->memory.bytes() >= bytes && cudaEventQuery(slot->copied.get()) == cudaSuccess) open_ = slot.get();
  }
  if (open_ == nullptr && slots_.size() >= kSlots) {  // the one that has been on its way for longest goes
    slots_.front()->copied.synchronize();
    slots_.erase(slots_.begin());
  }
  if (open_ == nullptr) open_ = slots_.emplace_back(std::make_unique<Slot>(std::max(bytes, kLeast))).get();
  return open_->memory.data();
}

void Staging::send(void* to, std::size_t bytes, const Stream& stream) {
  check(cudaMemcpyAsync(to, open_->memory.data(), bytes, cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  open_->copied.record(stream);
}

}  // namespace real
