// core/spec/network_algorithm.h -- the ways in which NCCL carries out a collective, by the names of a Job file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/spec/names.h"

namespace spec {

/// What each does is told in sim/network/algorithms.h; which collectives have it in docs/network.md.
enum class Algorithm : std::uint8_t { automatic, ring, tree, nvls, nvls_tree, collnet, pat, direct, hierarchical };
template <>
inline constexpr auto kNamesOf<Algorithm> = spelt("auto", "ring", "tree", "nvls", "nvls_tree", "collnet", "pat",
                                                  "direct", "hierarchical");

}  // namespace spec
