// sim/network/uplinks.h -- how many times over the groups of an axis fill the uplinks of their fullest switch.
//
// Counted, not simulated: each hop of every group adds its volume to the switches that it leaves and to those that it
// enters, tier by tier, while all groups send as fast as their cards let them. That is the time of the fullest link,
// below which no sharing of the fabric can stay; flows that wait for one another can only take longer (flow.h).
// Leaves out: static hashing, faults of links, the direct links of a dragonfly, rails that one another's data crosses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/work.h"
#include "core/spec/cluster.h"
#include "sim/network/path.h"

namespace sim {

/// Whether a switch of the fabric has less up than down, so that uplinks can be what limits.
bool has_narrow_uplinks(const spec::Cluster&);

/// Factor (at least 1) by which the fullest uplink or downlink slows groups that leave an island at `rate` (of a group;
/// shift and send: of a member). Time: linear in the ranks that are looked at (sim/network/hops.h), all_to_all times
/// the islands of a group. REQUIRES: group.layout is told (ranks > 0); a fabric with leaves.
double slowdown_of_uplinks(const spec::Cluster&, const plan::GroupShape&, Pattern, base::ByteRate rate);

}  // namespace sim
