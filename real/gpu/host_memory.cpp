// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/host_memory.h"

#include <algorithm>

#include "core/base/fault.h"

namespace real {

std::unique_ptr<PinnedBuffer> HostPool::take(std::size_t bytes) {
  const auto over = [](const Event& event) { return cudaEventQuery(event.get()) == cudaSuccess; };
  const auto fits = [&](const Spare& one) {
    return one.known && one.buffer->bytes() == bytes && std::ranges::all_of(one.until, over);
  };
  const auto found = std::ranges::find_if(spare_, fits);
  if (found == spare_.end()) return std::make_unique<PinnedBuffer>(bytes);
  std::unique_ptr<PinnedBuffer> buffer = std::move(found->buffer);
  spare_.erase(found);
  return buffer;
}

void HostPool::put(std::unique_ptr<PinnedBuffer> buffer, std::uint32_t used) noexcept {
  Spare& one = spare_.emplace_back();
  one.buffer = std::move(buffer);
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    if ((used >> s & 1u) == 0) continue;
    try {
      one.until.emplace_back().record(streams_[s]);
    } catch (const base::DeviceError&) {
      one.known = false;
    }
  }
}

}  // namespace real
