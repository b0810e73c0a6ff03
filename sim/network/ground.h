// sim/network/ground.h -- a group of ranks as the algorithms see it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/units.h"
#include "core/plan/work.h"
#include "core/spec/cluster.h"
#include "sim/network/path.h"

namespace sim {

/// What a rank finds inside its domain and what the group finds between domains.
struct Ground {
  int size, members, domains;  // ranks; of them in one domain; domains
  int sharing;                 // groups that want the same cards
  base::Bytes bytes, own;      // of the buffer; of it on the rank itself at the start and in the end
  bool nvlink = false;         // joins the members of a domain
  base::ByteRate inside;       // of one rank, to the others of its domain
  const spec::Cluster& cluster;
  const plan::GroupShape& group;
  const Paths& paths;

  /// Of all members of a domain, to other domains; shift and send: of one member.
  base::ByteRate between(Pattern pattern) const { return paths.between(group, members, pattern); }
  const spec::NetworkCalibration& near() const { return cluster.node.links; }
  const spec::NetworkCalibration& far() const { return cluster.fabric.calibration; }
};

/// Both must outlive it. REQUIRES: a group that leaves its node has NICs.
Ground survey(const plan::Collective&, const Paths&);

}  // namespace sim
