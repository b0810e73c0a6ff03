// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/host_memory.h"

#include <algorithm>

namespace real {

std::unique_ptr<PinnedBuffer> HostPool::take(std::size_t bytes) {
  const auto fits = [&](const Spare& one) { return one.buffer->bytes() == bytes && one.past.over(); };
  const auto found = std::ranges::find_if(spare_, fits);
  if (found == spare_.end()) return std::make_unique<PinnedBuffer>(bytes);
  std::unique_ptr<PinnedBuffer> buffer = std::move(found->buffer);
  spare_.erase(found);
  return buffer;
}

void HostPool::put(std::unique_ptr<PinnedBuffer> buffer, std::uint32_t used) noexcept {
  Spare& one = spare_.emplace_back();
  one.buffer = std::move(buffer);
  one.past.record(streams_, used, [] { return Event(); });
}

}  // namespace real
