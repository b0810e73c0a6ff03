// real/gpu/host_memory.h -- page-locked memory of the host that tensors leave the GPU for. What is let go is handed out
// again once the streams that were given work on it are past that. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "real/cuda/pool.h"
#include "real/executor/tensor.h"
#include "real/gpu/recycler.h"

namespace real {

class HostPool {
 public:
  explicit HostPool(const Streams& streams) : streams_(streams) {}

  std::unique_ptr<PinnedBuffer> take(std::size_t bytes);
  /// `used` has a bit for each stream that was given work on it.
  /// On a GPU that has failed the buffer is handed out no more.
  void put(std::unique_ptr<PinnedBuffer> buffer, std::uint32_t used) noexcept;

 private:
  struct Spare {
    std::unique_ptr<PinnedBuffer> buffer;
    Past past;
  };
  const Streams& streams_;
  std::list<Spare> spare_;
};

/// Numbers in the host's memory. Outlived by its pool.
struct HostMemory final : Storage {
  HostMemory(std::size_t bytes, HostPool& of) : buffer(of.take(bytes)), pool(of) {}
  ~HostMemory() override { pool.put(std::move(buffer), used); }
  std::unique_ptr<PinnedBuffer> buffer;
  HostPool& pool;
  std::uint32_t used = 0;
};

}  // namespace real
