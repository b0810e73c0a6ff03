// sim/engine/sharing.h -- what the running operators of one rank occupy together, and by how much that stretches each
// of them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/engine/engine.h"

namespace sim {

/// Counts the holders of each resource, one byte each: a rank has fewer streams than a byte has values.
class Holders {
 public:
  void enter(std::uint8_t resources) { counts_ += kOnes[resources]; }
  void leave(std::uint8_t resources) { counts_ -= kOnes[resources]; }

  /// The time that an operator on `resources` takes over its time alone.
  double stretch(std::uint8_t resources, const EngineInput& in) const {
    if ((resources & resource::kCompute) != 0) return count(1) > 0 ? in.compute_slowdown : 1;
    int sharing = 1;
    for (int r = 2; r < resource::kCount; ++r) {
      if ((resources >> r & 1) != 0) sharing = std::max(sharing, count(r));
    }
    const bool hindered = (resources & resource::kCommunication) != 0 && count(0) > 0;
    return hindered ? sharing * in.communication_slowdown : sharing;
  }

 private:
  int count(int r) const { return static_cast<int>(counts_ >> (8 * r) & 0xff); }

  static constexpr std::array<std::uint64_t, 1 << resource::kCount> kOnes = [] {
    std::array<std::uint64_t, 1 << resource::kCount> out{};
    for (std::size_t set = 0; set < out.size(); ++set) {
      for (int r = 0; r < resource::kCount; ++r) {
        if ((set >> r & 1) != 0) out[set] |= std::uint64_t{1} << (8 * r);
      }
    }
    return out;
  }();
  std::uint64_t counts_ = 0;
};

/// How far a running operator has come. Its end is found from the same exact progress however often its pace changes at
/// one instant, so the order of events within an instant leaves no trace.
class Progress {
 public:
  Ticks begin(Ticks now, Ticks alone, double stretch) {
    left_ = static_cast<double>(alone);
    since_ = now;
    stretch_ = stretch;
    return stretch == 1 ? now + alone : end();
  }
  double stretch() const { return stretch_; }
  double left() const { return left_; }
  Ticks since() const { return since_; }
  /// The same at another time.
  void shift(Ticks later) { since_ += later; }
  /// The new end.
  Ticks change(Ticks now, double stretch) {
    left_ -= static_cast<double>(now - since_) / stretch_;
    since_ = now;
    stretch_ = stretch;
    return end();
  }
  /// At least so much is left, alone. The new end.
  Ticks extend(Ticks now, Ticks least) {
    left_ = std::max(left_ - static_cast<double>(now - since_) / stretch_, static_cast<double>(least));
    since_ = now;
    return end();
  }

 private:
  /// To the nearest picosecond; halves go up, also those that lost their last bits.
  Ticks end() const { return since_ + static_cast<Ticks>(std::max(0.0, left_ * stretch_) + 0.501); }

  double left_ = 0;  // picoseconds alone
  Ticks since_ = 0;
  double stretch_ = 1;
};

}  // namespace sim
