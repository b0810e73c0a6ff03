// sim/network/closed_form.cpp -- see closed_form.h: the fastest of what is offered wins.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/closed_form.h"

#include "sim/network/algorithms.h"
#include "sim/network/ground.h"

namespace sim {
namespace {

using plan::CollectiveKind;
using spec::Algorithm;

/// What NCCL chooses among by itself, its standby first.
constexpr Algorithm kOfNccl[] = {Algorithm::ring,      Algorithm::direct,  Algorithm::tree, Algorithm::nvls,
                                 Algorithm::nvls_tree, Algorithm::collnet, Algorithm::pat};

bool moves(const plan::Collective& c) { return c.group.size > 1 && c.bytes > 0; }

}  // namespace

double bus_factor(CollectiveKind kind, int ranks) {
  if (ranks <= 1) return 0;
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case CollectiveKind::all_reduce: return 2 * others;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::shift: return 1;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all: break;
  }
  return others;
}

double bytes_sent_per_rank(const plan::Collective& c) { return bus_factor(c.kind, c.group.size) * c.bytes; }

NetworkPrice price(const plan::Collective& c, const spec::Cluster& cluster, Algorithm wanted) {
  return price(c, Paths(cluster), wanted);
}

NetworkPrice price(const plan::Collective& c, const Paths& paths, Algorithm wanted) {
  if (!moves(c)) return {};
  const Ground at = survey(c, paths);
  if (wanted != Algorithm::automatic) {
    if (const auto asked = price_by(wanted, c, at)) return *asked;
    const bool rings = c.kind != CollectiveKind::all_to_all && c.kind != CollectiveKind::shift;
    return *price_by(rings ? Algorithm::ring : Algorithm::direct, c, at);
  }
  NetworkPrice best;
  for (const Algorithm by : kOfNccl) {
    const auto found = price_by(by, c, at);
    if (found && (best.algorithm == Algorithm::automatic || found->time < best.time)) best = *found;
  }
  return best;
}

NetworkPrice price(const plan::Transfer& t, const spec::Cluster& cluster) { return price(t, Paths(cluster)); }

NetworkPrice price(const plan::Transfer& t, const Paths& paths) {
  return t.bytes > 0 ? price_send(t, paths) : NetworkPrice{};
}

bool offered(Algorithm by, const plan::Collective& c, const spec::Cluster& cluster) {
  return moves(c) && price_by(by, c, survey(c, Paths(cluster))).has_value();
}

}  // namespace sim
