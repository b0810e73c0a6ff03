// sim/pricing/conditions.h -- what is slow or lost, place by place: the nodes that it touches, and how much longer
// their collectives take.
//
// A group runs at the pace of its slowest member, so the ranks of a touched node are priced with its fault and all
// others without; whoever meets them waits. Run rank by rank, a data-parallel ring through the node is slow, tensor
// parallelism inside it is not, and a stage elsewhere only waits for what comes late. Folded, the one rank that stands
// for a stage takes the fault's prices when any of the stage's ranks is touched. Both are upper bounds: all groups of
// an axis that a touched node is in are priced as the slowest of them. Exact where each of them crosses the fault (all
// cards of a node are slow and the groups join all nodes of the stage), or waits for one that does before its next.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/spec/job.h"

namespace sim {

struct Condition {
  spec::Outages outages;      // of one place: a node, or a link of the fabric
  std::vector<bool> touches;  // by node
  std::string text;           // "node 3: 1 of 8 cards lost"
};

/// In the order of the places as the job names them; empty where nothing is slow or lost.
std::vector<Condition> conditions_of(const spec::Job&);

bool touches(const Condition&, const plan::Plan&, const plan::Role&, const spec::Cluster&);

/// One line for each condition: what it slows on the stages that it touches, and how much, by the prices. So too for
/// placement and hashed flows, against nodes side by side and sprayed packets.
std::vector<std::string> condition_warnings(const plan::Plan&, const spec::Job&);

}  // namespace sim
