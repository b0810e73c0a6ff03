// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/training/gpus.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/emulated_gpu/call.h"
#include "tests/emulated_gpu/device.h"
#include "tests/emulated_gpu/runtime.h"

namespace gpus {

int count() { return emulated_gpu::kDevices; }
int capability() { return emulated_gpu::capability(); }
bool emulated() { return true; }
std::optional<std::uint64_t> activities() { return emulated_gpu::Device::current().activities(); }

Turns::Turns(unsigned seed, int ranks) : ranks_(ranks) { emulated_gpu::set_schedule(seed); }
Turns::~Turns() {
  for (int rank = 0; rank < ranks_; ++rank) emulated_gpu::Device::at(rank).reset();
  emulated_gpu::set_schedule(std::nullopt);
  emulated_gpu::last_error = cudaSuccess;
}

namespace {

void pose(int wanted) { setenv("FORERUN_EMULATED_CAPABILITY", std::to_string(wanted).c_str(), 1); }

}  // namespace

Posing::Posing(int wanted) : wanted_(wanted), before_(capability()) { pose(std::max(wanted, before_)); }
Posing::~Posing() { pose(before_); }
Posing::operator bool() const { return capability() >= wanted_; }

}  // namespace gpus
