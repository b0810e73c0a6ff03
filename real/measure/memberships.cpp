// SPDX-License-Identifier: Apache-2.0
#include "real/measure/memberships.h"

#include <algorithm>

#include "real/executor/place.h"

namespace real {
namespace {

using Channels = plan::Channel::Kind;

bool is_edge(const plan::Channel& channel) {
  return channel.kind == Channels::forward_edge || channel.kind == Channels::backward_edge;
}

std::vector<int> ranks_of(const Place& place, const plan::Channel& channel, int number) {
  const bool pair =
      channel.kind != Channels::group && channel.kind != Channels::model && channel.kind != Channels::stages;
  if (!pair) return place.group(number).ranks;
  if (place.stage() != channel.from && place.stage() != channel.to) return {};
  return {place.neighbour(channel.from), place.neighbour(channel.to)};
}

}  // namespace

int Membership::place_of(int rank) const {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

std::vector<Membership> memberships(const plan::Context& c, const plan::Plan& plan, int rank) {
  const Place place(c, plan, rank);
  std::vector<Membership> out;
  for (std::size_t i = 0; i < plan.channels.size(); ++i) {
    Membership& one = out.emplace_back();
    one.ranks = ranks_of(place, plan.channels[i], static_cast<int>(i));
    if (one.ranks.empty()) continue;
    one.color = one.ranks.front();
    one.key = one.place_of(rank);
    one.one_way = is_edge(plan.channels[i]);
  }
  return out;
}

}  // namespace real
