// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "real/cuda/device.h"
#include "tests/gpu/training/gpus.h"

namespace gpus {

/// Ranks are threads here. In one process a call that gives memory back may wait for kernels of the other GPUs, and
/// those of NCCL wait for one another: several ranks only where $FORERUN_RANKS_AS_THREADS says how many.
int count() {
  // Between GPUs of one process NCCL reads and writes users' buffers themselves, which memory of a pool allows no peer
  // by itself. Before the first communicator. Source: NCCL's user guide, "NCCL_P2P_DIRECT_DISABLE".
  setenv("NCCL_P2P_DIRECT_DISABLE", "1", 0);
  const char* most = std::getenv("FORERUN_RANKS_AS_THREADS");
  return std::min(real::device_count(), most ? std::max(1, std::atoi(most)) : 1);
}
int capability() {
  const real::DeviceFacts first = real::facts(0);
  return 10 * first.major + first.minor;
}
bool emulated() { return false; }
std::optional<std::uint64_t> activities() { return std::nullopt; }

Turns::Turns(unsigned, int ranks) : ranks_(ranks) {}
Turns::~Turns() = default;

Posing::Posing(int wanted) : wanted_(wanted), before_(capability()) {}
Posing::~Posing() = default;
Posing::operator bool() const { return before_ >= wanted_; }

}  // namespace gpus
