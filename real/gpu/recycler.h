// real/gpu/recycler.h -- memory that other streams than its own may still use when its last tensor goes. It is given
// back once they are past the point that they had reached then: no stream waits for another because of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan/plan.h"
#include "real/cuda/pool.h"
#include "real/executor/tensor.h"

namespace real {

/// One CUDA stream for each stream of the Plan.
using Streams = std::array<Stream, plan::kStreams>;

class Recycler {
 public:
  explicit Recycler(const Streams& streams) : streams_(streams) {}

  /// `used` has a bit for each stream, besides the buffer's own, that was given work on it.
  /// Called by destructors: on a GPU that has failed the buffer stays until clear().
  void put(DeviceBuffer buffer, std::uint32_t used) noexcept;
  /// Gives back what can be given back now.
  void poll();
  /// Everything is done: gives back all.
  void clear();
  /// While a step is captured nothing is asked of events: what is put stays until clear().
  void hold(bool on) { holds_ = on; }

 private:
  struct Waiting {
    DeviceBuffer buffer;
    std::vector<Event> until;
    bool known = true;  // when it is past them
  };
  Event fresh();

  const Streams& streams_;
  bool holds_ = false;
  std::vector<Waiting> waiting_;
  std::vector<Event> spare_;
};

/// Numbers on the GPU. Outlived by its recycler.
struct DeviceMemory final : Storage {
  DeviceMemory(DeviceBuffer b, plan::Stream of, Recycler& to) : buffer(std::move(b)), home(of), recycler(to) {}
  ~DeviceMemory() override {
    if (used != 0) recycler.put(std::move(buffer), used);
  }
  DeviceBuffer buffer;
  plan::Stream home;
  std::uint32_t used = 0;
  Recycler& recycler;
};

}  // namespace real
