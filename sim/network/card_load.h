// sim/network/card_load.h -- what a group's rings and trees put on the cards of a node of which some are slow or lost.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/work.h"
#include "sim/network/cards.h"

namespace sim {

/// How many times as long (at least 1) the fullest card of an island takes as without faults, of the slowest of them,
/// while all groups of the axis run. Each leaves an island by its members that have a card of their own, in equal
/// shares; where none has, each by the card that stands in for its own. REQUIRES: a layout that is told.
double slowdown_of_cards(const Cards&, const plan::GroupShape&, const spec::Cluster&);

}  // namespace sim
