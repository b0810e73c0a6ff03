// SPDX-License-Identifier: Apache-2.0
#include "core/plan/visited.h"

#include <algorithm>

namespace plan {
namespace {

/// Chance that none of `chosen` different things out of `all` is one of `marked`: C(all - marked, chosen) / C(all,
/// chosen).
double misses(int all, int marked, int chosen) {
  double none = 1;
  for (int i = 0; i < chosen; ++i) none *= std::max(0.0, static_cast<double>(all - marked - i) / (all - i));
  return none;
}

/// Chance that `hits` of `chosen` out of `all` are among the `marked` (hypergeometric).
double hits_exactly(int all, int marked, int chosen, int hits) {
  const auto choose = [](int n, int k) {
    double out = k < 0 || k > n ? 0 : 1;
    for (int i = 0; i < k && out > 0; ++i) out *= static_cast<double>(n - i) / (i + 1);
    return out;
  };
  return choose(marked, hits) * choose(all - marked, chosen - hits) / choose(all, chosen);
}

/// Of `parts` equal parts of the experts, which lie in their order, how many a token meets whose groups, and then its
/// experts in them, are chosen evenly.
double parts_at_random(const spec::Moe& moe, int parts) {
  const int each = moe.experts / parts, in_reach = moe.experts / moe.groups * moe.top_groups;
  if (moe.groups == moe.top_groups || (parts % moe.groups != 0 && moe.groups % parts != 0)) {
    return parts * (1 - misses(moe.experts, each, moe.top_k));
  }
  if (parts % moe.groups == 0) {  // each lies in one group
    return parts * static_cast<double>(moe.top_groups) / moe.groups * (1 - misses(in_reach, each, moe.top_k));
  }
  const int groups = moe.groups / parts;
  double met = 0;
  for (int chosen = 1; chosen <= std::min(groups, moe.top_groups); ++chosen) {
    met += hits_exactly(moe.groups, groups, moe.top_groups, chosen) *
           (1 - misses(in_reach, moe.experts / moe.groups * chosen, moe.top_k));
  }
  return parts * met;
}

/// Likewise where each token takes the top_k experts behind those of the token before it. Each rank starts at expert 0,
/// and after `experts` tokens it all begins anew.
double parts_in_turn(const spec::Moe& moe, int parts) {
  const int each = moe.experts / parts;
  int met = 0;
  for (int token = 0; token < moe.experts; ++token) {
    const int first = token * moe.top_k % moe.experts, last = first + moe.top_k - 1;
    met += std::min(parts, last / each - first / each + 1);
  }
  return static_cast<double>(met) / moe.experts;
}

}  // namespace

Visited visited_by_a_token(const Context& c) {
  const spec::Moe& moe = *c.model.moe;
  const auto parts_visited = c.strategy.moe_round_robin ? parts_in_turn : parts_at_random;
  const int domains = std::max(1, c.group(Axis::ep).domains);
  return {parts_visited(moe, c.strategy.ep),
          moe.experts % domains == 0 ? parts_visited(moe, domains) : std::min<double>(domains, moe.top_k)};
}

}  // namespace plan
