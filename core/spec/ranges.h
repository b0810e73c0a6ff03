// core/spec/ranges.h -- the largest numbers of a Job, of files and of those made by hand alike, so that a digit too
// many is a fault. No product of two passes 64 bits; of more, size_rules.cpp sees to it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace spec {

inline constexpr std::int64_t kMostNodes = 1'000'000, kMostGpusOfANode = 1024;
inline constexpr std::int64_t kMostDegree = 1'000'000, kMostReplicas = kMostGpusOfANode * kMostNodes;

inline constexpr std::int64_t kMostTokens = 100'000'000;    // of a sequence
inline constexpr std::int64_t kMostSequences = 10'000'000;  // of a step

inline constexpr std::int64_t kMostLayers = 10'000, kMostHeads = 10'000, kMostHeadDim = 10'000, kMostExperts = 100'000;
inline constexpr std::int64_t kMostHidden = 1'000'000, kMostFfn = 10'000'000, kMostVocab = 100'000'000;
inline constexpr double kMostRopeScale = 10;                   // a model's sequence scaled 10^39 times
inline constexpr std::int64_t kMostPositions = 1'000'000'000;  // and tokens of a window
inline constexpr double kMostParameters = 1e15;

}  // namespace spec
