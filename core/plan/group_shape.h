// core/plan/group_shape.h -- where the members of an axis sit: ranks, nodes, NVLink domains and the NICs they share.
//
// Rank r is GPU r % gpus of node r / gpus. Ranks reach one another over NVLink inside an *island*: a node, or the
// NVLink domain when it spans several nodes (NVL72). NICs are counted by island, too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/work.h"
#include "core/spec/cluster.h"

namespace plan {

/// The groups of an axis: member i of a group is rank first + i * stride, one group for each rank below `stride` in
/// every block of stride * size ranks; groups that would need a rank beyond `ranks_total` do not exist. Of unequal
/// groups and islands the worst: the fewest members in an island (among groups that leave one), the most islands, the
/// most sharing. Groups that leave their NVLink domain but never their node (bridged pairs) have sharing 0: they use no
/// NIC. Constant time when stride * size and the island divide one another, otherwise linear in ranks. REQUIRES: stride
/// >= 1, size >= 1, ranks_total > stride * (size - 1).
GroupShape group_shape(int stride, int size, const spec::Cluster&, int ranks_total);

/// Transfers from every rank r to r + stride at once, one direction; `bytes` stays 0. crosses_domain: some leave their
/// NVLink domain (or node without NVLink). sharing: the most that leave one island at once; 0: they cross domains
/// inside a node, without NICs. REQUIRES: stride >= 1.
Transfer stage_hop(int stride, const spec::Cluster&, int ranks_total);

/// The same from every rank of a stage to the next of `stages`, where stages are `stride` rank numbers apart.
Transfer stage_hop(int stride, int stages, const spec::Cluster&, int ranks_total);
/// The same between two of them: none of its ranks may leave what others of `any`, the hop of all stages, do. Linear in
/// the ranks of an island.
Transfer stage_hop_between(int from, int to, const Transfer& any, int stride, int stages, const spec::Cluster&,
                           int ranks_total);
/// The pairs of first and last stage.
GroupShape ends_shape(int stride, int stages, const spec::Cluster&, int ranks_total);
/// The pairs of `stage`, of the first half, and its mirror image, stages - 1 - stage, while all such pairs of other
/// stages send as well (DualPipe's copies).
GroupShape mirror_shape(int stage, int stride, int stages, const spec::Cluster&, int ranks_total);

}  // namespace plan
