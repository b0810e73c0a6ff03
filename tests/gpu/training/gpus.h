// tests/gpu/training/gpus.h -- the GPUs that tests of real mode run on: this machine's (this_machine.cpp), or emulated
// ones (tests/emulated_gpu/gpus.cpp), by which of the two is linked. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace gpus {

/// As many ranks can run, each on a GPU of its own.
int count();
/// Compute capability of the first, times ten: 90 for Hopper.
int capability();
inline constexpr int kFp8Since = 89;      // Ada
inline constexpr int kScalesOfRows = 90;  // and of blocks: Hopper alone (real/measure/supported.h)
/// By a CPU: slow, and of one job the same to the last bit whenever it runs. A GPU's kernels add in any order.
bool emulated();
/// Work that the calling thread's GPU was given so far and that a profiler would record, where it is counted.
std::optional<std::uint64_t> activities();

/// While it lives, streams of the GPUs take turns in an order drawn from `seed`, where anybody can say so; then the
/// first `ranks` GPUs are as new.
class Turns {
 public:
  Turns(unsigned seed, int ranks);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

 private:
  int ranks_;
};

/// While it lives, capability() is at least `wanted`; false where it cannot be.
class Posing {
 public:
  explicit Posing(int wanted);
  ~Posing();
  Posing(const Posing&) = delete;
  Posing& operator=(const Posing&) = delete;
  explicit operator bool() const;

 private:
  int wanted_, before_;
};

}  // namespace gpus
