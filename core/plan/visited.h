// core/plan/visited.h -- how many ranks and NVLink domains the experts of one token lie on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/context.h"

namespace plan {

/// Copies that a token sends when each rank, or each NVLink domain, takes it once whatever number of its experts the
/// token visits (DeepEP). A mean over tokens: of top_k different experts chosen evenly, in groups chosen evenly
/// (Moe::top_groups), or of those that are dealt out in turn (Strategy::moe_round_robin).
struct Visited {
  double ranks = 0, domains = 0;
};
/// REQUIRES: the model has experts.
Visited visited_by_a_token(const Context&);

}  // namespace plan
