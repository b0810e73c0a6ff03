// real/launch/agreement.h -- whether all ranks are about to do the same: a launcher starts each by itself, on machines
// that may have other files, libraries or arguments, and collectives of different Plans wait for one another for ever.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fnv.h"
#include "real/launch/world.h"

namespace real {

/// By name: {"--steps", "10"}. Any text but for zero bytes.
using Intentions = std::vector<std::pair<std::string, std::string>>;

/// Returns when every rank has found its own equal to rank 0's. Throws base::DeviceError: on a rank that differs
/// "rank 2 (node7) does not do what rank 0 does: --steps is 20, rank 0 has 10", on the others that it gave up so.
void expect_agreement(World&, const Intentions& mine);

/// FNV-1a, in hexadecimal: for what is too long to be told.
class Fingerprint {
 public:
  Fingerprint& add(const std::string& text);
  Fingerprint& add(std::int64_t number);
  std::string text() const;

 private:
  std::uint64_t hash_ = base::kFnvBasis;
};

}  // namespace real
