// real/gpu/recycler.h -- memory that other streams than its own may still use when its last tensor goes. It is given
// back once they are past the point that they had reached then: no stream waits for another because of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/fault.h"
#include "core/plan/plan.h"
#include "real/cuda/pool.h"
#include "real/executor/tensor.h"

namespace real {

/// One CUDA stream for each stream of the Plan.
using Streams = std::array<Stream, plan::kStreams>;

/// The points that streams had reached when they were given their last work on a buffer.
struct Past {
  std::vector<Event> until;
  bool known = true;

  /// `used` has a bit for each stream; `fresh()` makes an event. Called by destructors: on a GPU that has failed nobody
  /// knows when they are past it.
  template <class Fresh>
  void record(const Streams& streams, std::uint32_t used, Fresh fresh) noexcept {
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if ((used >> s & 1u) == 0) continue;
      try {
        until.push_back(fresh());
        until.back().record(streams[s]);
      } catch (const base::DeviceError&) {
        known = false;
      }
    }
  }
  bool over() const {
    const auto happened = [](const Event& event) { return cudaEventQuery(event.get()) == cudaSuccess; };
    return known && std::ranges::all_of(until, happened);
  }
};

class Recycler {
 public:
  explicit Recycler(const Streams& streams) : streams_(streams) {}

  /// `used` has a bit for each stream, besides the buffer's own, that was given work on it.
  /// On a GPU that has failed it stays until clear().
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
    Past past;
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
