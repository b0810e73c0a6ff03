// sim/network/collective_table.h -- one collective priced over a range of sizes, alone on its cluster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/work.h"
#include "core/result/collectives.h"
#include "core/spec/cluster.h"
#include "core/spec/network_algorithm.h"

namespace sim {

/// "all_reduce" ... "broadcast", "send" (CollectiveKind::shift).
std::string_view name(plan::CollectiveKind);
/// "all_reduce over nvlink4".
std::string name(plan::CollectiveKind, const spec::NetworkCalibration&);
std::optional<plan::CollectiveKind> collective_named(std::string_view);
std::vector<std::string> collective_names();

/// The group of the first `gpus` GPUs of every node (evenly spaced, where there are several nodes), with the cards to
/// itself. REQUIRES: 1 <= gpus <= node.gpus; gpus divides node.gpus where there are several nodes.
plan::GroupShape group_of_nodes(const spec::Cluster&, int gpus);

/// "nvlink4.nvls": the calibration and the key of a curve of this cluster; empty for no curve.
std::string curve_name(const spec::PathCurve*, const spec::Cluster&);

/// Whether a size lies outside of what the curve was fitted to, by more than one doubling, the step between two sizes
/// of a sweep; never where that is not told.
bool outside(const spec::PathCurve&, std::int64_t bytes);
/// Spread of a curve that was taken from another kind of link, as such curves state it in
/// topologies/calibrations/network (measured: false); a size beyond the measured ones is as good as that.
inline constexpr double kSpreadOfGuess = 0.3;

result::CollectiveTable collective_table(plan::CollectiveKind, const spec::Cluster&, int gpus,
                                         const std::vector<std::int64_t>& sizes,
                                         spec::Algorithm = spec::Algorithm::automatic);

}  // namespace sim
