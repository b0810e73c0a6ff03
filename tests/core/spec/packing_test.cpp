// tests/core/spec/packing_test.cpp -- what attention pays for when documents share a sequence.
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/packing.h"

#include <gtest/gtest.h>

#include "core/plan/flops.h"
#include "tests/core/plan/walk.h"

namespace {

spec::Training packed(spec::Packing packing, std::int64_t sequence = 4096) {
  spec::Training t;
  t.sequence = sequence;
  t.packing = std::move(packing);
  return t;
}

TEST(Packing, ATokenSeesADocumentOfSquaresOverSum) {
  // (2048^2 + 2 x 1024^2) / 4096 = 1536.
  EXPECT_EQ(spec::document_length(packed({{2048, 1024, 1024}, 0, 0})), 1536);
  // 1000 + 500^2 / 1000 = 1250.
  EXPECT_EQ(spec::document_length(packed({{}, 1000, 500})), 1250);
  // A long tail is cut where the sequence ends, and a document that fills it is no packing.
  EXPECT_EQ(spec::document_length(packed({{}, 1000, 100'000})), 0);
  EXPECT_EQ(spec::document_length(packed({{4096}, 0, 0})), 0);
  EXPECT_EQ(spec::document_length(spec::Training()), 0);
}

TEST(Packing, AttentionCountsTheSquaresOfDocuments) {
  // 4 documents of 32 tokens: 4 x 32^2 / 2 pairs where one of 128 has 128^2 / 2.
  const spec::Job j = toy::job({}, [](spec::Job& job) { job.training.packing = spec::Packing{{}, 32, 0}; });
  const spec::Job whole = toy::job();
  const plan::ForwardFlops one = plan::forward_flops(whole.model, 128),
                           four = plan::forward_flops(whole.model, 128, 32);
  EXPECT_DOUBLE_EQ(four.attention, one.attention / 4);
  EXPECT_DOUBLE_EQ(four.linear, one.linear);
  EXPECT_DOUBLE_EQ(plan::model_flops(whole) - plan::model_flops(j), 3 * 4 * one.attention * 3 / 4);
  const plan::Plan p = plan::build(j), q = plan::build(whole);
  // The plan's kernels do as the formula says: forward and 2.5 times that backward, in 4 layers.
  EXPECT_DOUBLE_EQ(walk::flops(q) - walk::flops(p), 3.5 * 4 * one.attention * 3 / 4);
}

TEST(Packing, AWindowWiderThanADocumentChangesNothing) {
  plan::Attention a{spec::AttentionKernel::flash2, 1, 128, 128, 8, 8, 32};
  a.document = 32;
  const double without = plan::hardware_flops(plan::Work(a));
  a.window = 64;
  EXPECT_DOUBLE_EQ(plan::hardware_flops(plan::Work(a)), without);
  // 16 keys of a document's 32: 16 x 32 - 16^2 / 2 = 384 pairs of 512.
  a.window = 16;
  EXPECT_DOUBLE_EQ(plan::hardware_flops(plan::Work(a)), without * 384 / 512);
}

TEST(Packing, ADocumentLongerThanItsSequenceIsAFault) {
  EXPECT_TRUE(spec::packing_faults(packed({{4096}, 0, 0})).empty());
  EXPECT_EQ(spec::packing_faults(packed({{4097}, 0, 0})).size(), 1u);
  EXPECT_EQ(spec::packing_faults(packed({})).size(), 1u);
}

}  // namespace
