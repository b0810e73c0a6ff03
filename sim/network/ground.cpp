// SPDX-License-Identifier: Apache-2.0
#include "sim/network/ground.h"

#include <algorithm>

namespace sim {

Ground survey(const plan::Collective& c, const Paths& paths) {
  const spec::Cluster& cluster = paths.cluster();
  const plan::GroupShape& g = c.group;
  const bool leaves_node = g.domains > 1 && g.sharing > 0;
  const bool pieces = g.domains > 1 && g.sharing == 0;  // NVLink islands of one node, PCIe between them
  Ground at{.size = g.size,
            .members = leaves_node ? std::max(1, g.per_domain) : g.size,
            .domains = leaves_node ? g.domains : 1,
            .sharing = g.sharing,
            .bytes = base::Bytes(static_cast<double>(c.bytes)),
            .own = base::Bytes(c.kind == plan::CollectiveKind::broadcast || c.kind == plan::CollectiveKind::reduce
                                   ? 0.0
                                   : static_cast<double>(c.bytes) / g.size),
            .inside = {},
            .cluster = cluster,
            .group = g,
            .paths = paths};
  // Members in a node that is not one domain may lie in several.
  const int reach = 1 + (at.members - 1) * std::max(1, g.layout.stride);
  at.nvlink = !pieces && joined_by_nvlink(cluster.node, reach);
  if (at.members > 1) at.inside = paths.inside(g, at.members, at.nvlink);
  return at;
}

}  // namespace sim
