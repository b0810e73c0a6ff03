// real/launch/clock_offset.h -- how far the clocks of two machines are apart, by messages to rank 0 and back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "real/launch/world.h"

namespace real {

/// What has to be added to a rank's clock for rank 0's, and by how much that may be wrong.
struct ClockOffset {
  std::int64_t ns = 0, uncertainty_ns = 0;
};

/// A clock in nanoseconds, and of which machine: ranks of one have one, and nothing to compare.
struct HostClock {
  std::function<std::int64_t()> now;
  std::string machine;
};
/// The one of CUPTI's records; the machine by its kernel's boot, which containers share.
HostClock host_clock();

/// All ranks at the same time. Of 20 messages there and back the one that took least tells: rank 0 read its clock
/// somewhere between, so half of that time is the uncertainty, whatever the two ways took. Source: Cristian,
/// "Probabilistic clock synchronization", Distributed Computing 3 (1989).
ClockOffset clock_offset(World&, Channel, const HostClock&);

/// In the middle of two; where clocks went apart meanwhile, half of that is uncertain as well.
ClockOffset between(const ClockOffset& before, const ClockOffset& after);

}  // namespace real
