// sim/network/path.h -- data-sheet rates that a group of GPUs finds on its way: NVLink or PCIe inside, NICs between.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/units.h"
#include "core/plan/work.h"
#include "core/spec/cluster.h"

namespace sim {

/// GPUs that pool their NICs: those of a node, or of the NVLink domain when it is larger (NVL72).
int island_gpus(const spec::Node&);

/// What one GPU can send to `members` - 1 others of its node or domain, one direction. A switch gives the whole NVLink
/// rate to any group; a mesh only the links that lead to members; PCIe without peer-to-peer passes through the host's
/// memory (written and read once), which all members share. `over_nvlink` false: no NVLink joins these members.
base::ByteRate inside_rate(const spec::Node&, int members, bool over_nvlink);

/// Whether `members` GPUs of one island talk over NVLink.
bool joined_by_nvlink(const spec::Node&, int members);

/// What a group may send out of one island, one direction: the cards near its `members` GPUs there, no more than its
/// part when `sharing` equal groups want the same cards.
base::ByteRate nic_rate(const spec::Cluster&, int members, int sharing);

/// Factor (at least 1) by which an oversubscribed leaf slows a group of `domains` islands in consecutive nodes.
/// Neighbours: only one edge of each leaf crosses; everyone to everyone: all that is meant for other leaves.
double leaf_slowdown_neighbours(const spec::Cluster&, int domains);
double leaf_slowdown_all_to_all(const spec::Cluster&, int domains);

}  // namespace sim
