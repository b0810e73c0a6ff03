// tests/sim/search/chunk_cost_test.cpp -- which chunks may be carried on from a few of their layers.
// SPDX-License-Identifier: Apache-2.0
#include "sim/search/chunk_cost.h"

#include <gtest/gtest.h>

#include "tests/support/toy.h"

namespace {

template <class Change>
bool alike(Change change) {
  const spec::Job job = toy::job({}, change);
  const plan::Context c(job);
  return sim::uniform(c, plan::chunks_of(c)[0][0]);
}

TEST(ChunkCost, LayersThatSeeAsFarAreAlike) {
  EXPECT_TRUE(alike([](spec::Job& j) { j.model.window = 32; }));
  EXPECT_TRUE(alike([](spec::Job& j) { j.model.attention_chunk = 32; }));
  EXPECT_TRUE(alike([](spec::Job& j) { j.model.full_every = 2; }));  // all see everything anyway
  EXPECT_FALSE(alike([](spec::Job& j) {
    j.model.window = 32;
    j.model.full_every = 2;
  }));
  EXPECT_FALSE(alike([](spec::Job& j) {
    j.model.attention_chunk = 32;
    j.model.full_every = 2;
  }));
}

TEST(ChunkCost, LayersWithAndWithoutRotaryEmbeddingDiffer) {
  EXPECT_FALSE(alike([](spec::Job& j) {
    j.model.position = spec::Position::rope;
    j.model.nope_every = 4;
  }));
}

}  // namespace
