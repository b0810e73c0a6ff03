// SPDX-License-Identifier: Apache-2.0
#include "real/cuda/device.h"
#include "tests/gpu/training/gpus.h"

namespace gpus {

int count() { return real::device_count(); }
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
