// tests/sim/economics/run_model_test.cpp -- what a run writes to go on from.
// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/run_model.h"

#include <gtest/gtest.h>

#include "tests/support/toy.h"

namespace {

// The toy's parameters: embedding 2048 x 256, positions 128 x 256, four layers of 12 x 256 x 256 and 13 x 256 of biases
// and norms, the last norm 2 x 256, a head of 2048 x 256.
constexpr double kToy = 2048 * 256 + 128 * 256 + 4 * (12 * 65536 + 13 * 256) + 2 * 256 + 2048 * 256;

TEST(RunModel, ACheckpointIsTheWholeModelOnceHoweverItIsCut) {
  // Weights of 2 bytes, masters of 4, moments of 8; what tensor-parallel ranks hold alike (positions, norms) is written
  // by each.
  EXPECT_NEAR(sim::checkpoint_bytes(toy::job()).si(), 14 * kToy, 1);
  EXPECT_NEAR(sim::checkpoint_bytes(toy::job({.pp = 4, .dp = 2, .microbatches = 4})).si(), 14 * kToy, 100);
  EXPECT_NEAR(sim::checkpoint_bytes(toy::job({.tp = 2, .dp = 2, .zero = 1})).si(), 14 * kToy, 0.01 * 14 * kToy);
}

TEST(RunModel, ACheckpointOfAdaptersHoldsThemAlone) {
  // Rank 8 beside attention's output projection: 8 x (256 + 256) a layer.
  const spec::Job job =
      toy::job({.dp = 4}, [](spec::Job& j) { j.strategy.lora = spec::Lora{.rank = 8, .proj = true}; });
  EXPECT_NEAR(sim::checkpoint_bytes(job).si(), 4 * 8 * 512 * 14, 1);
}

}  // namespace
