// real/gpu/streams.h -- one CUDA stream for each stream of the Plan that has work.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "core/plan/plan.h"
#include "real/cuda/stream.h"

namespace real {

/// A stream is made when it is first asked for, in the first step: each takes a hardware queue, of which there are few.
class Streams {
 public:
  const Stream& operator[](std::size_t stream) const {
    if (!made_[stream]) made_[stream].emplace();
    return *made_[stream];
  }
  bool has(std::size_t stream) const { return made_[stream].has_value(); }
  static constexpr std::size_t size() { return plan::kStreams; }

 private:
  mutable std::array<std::optional<Stream>, plan::kStreams> made_;
};

}  // namespace real
