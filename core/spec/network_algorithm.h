// core/spec/network_algorithm.h -- the ways in which NCCL carries out a collective, by the names of a Job file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace spec {

/// What each does is told in sim/network/algorithms.h; which collectives have it in docs/network.md.
enum class Algorithm : std::uint8_t { automatic, ring, tree, nvls, nvls_tree, collnet, pat, direct, hierarchical };

inline constexpr std::array<std::string_view, 9> kAlgorithmNames{
    "auto", "ring", "tree", "nvls", "nvls_tree", "collnet", "pat", "direct", "hierarchical"};

constexpr std::string_view name(Algorithm a) { return kAlgorithmNames[static_cast<std::size_t>(a)]; }

constexpr std::optional<Algorithm> algorithm_named(std::string_view word) {
  for (std::size_t i = 0; i < kAlgorithmNames.size(); ++i) {
    if (kAlgorithmNames[i] == word) return static_cast<Algorithm>(i);
  }
  return std::nullopt;
}

}  // namespace spec
