// sim/network/simgrid.h -- SimGrid runs flows. The only door to it: its one Engine lives, as its authors ask, once in a
// process, on a thread of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/network/cargo.h"
#include "sim/network/fluid.h"

namespace sim {

/// Whether this build has SimGrid, and it is installed.
bool has_simgrid();

/// When the last flow ends, all starting at once: SimGrid's max-min sharing, no latencies. Any thread may call it;
/// calls wait for one another. Numbers should be about 1: instants are told apart to 2e-8. Fold first: on SimGrid 3.32
/// the time grows with the square of the flows. REQUIRES: has_simgrid(); positive capacities and volumes; no empty
/// route.
double last_end(const Fluid&);

/// Carries loads of the cargo's sets, on the clock that the rider runs on; answers are the same whatever ran before.
/// REQUIRES: as above. The rider's calls come from SimGrid's thread and must not throw.
void ride(const Cargo&, Rider&);

}  // namespace sim
