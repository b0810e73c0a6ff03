// SPDX-License-Identifier: Apache-2.0
#include "core/plan/family.h"

#include <gtest/gtest.h>

namespace {

using plan::family_of;

plan::Collective collective(plan::CollectiveKind kind, int ranks = 1) {
  plan::Collective out;
  out.kind = kind;
  out.group.size = ranks;
  return out;
}

TEST(Family, ForwardAndBackwardOfAttentionAreTwo) {
  plan::Attention attention;
  EXPECT_EQ(family_of(attention), "attention forward");
  attention.backward = true;
  EXPECT_EQ(family_of(attention), "attention backward");
}

TEST(Family, MemoryBoundKernelsAreNamedByTheirKind) {
  using Kind = plan::MemoryBound::Kind;
  EXPECT_EQ(family_of(plan::MemoryBound{Kind::norm, 1, 1, 1}), "norm");
  EXPECT_EQ(family_of(plan::MemoryBound{Kind::optimizer, 1, 1, 1}), "optimizer");
}

TEST(Family, RingHopsAndTransfersAreWhatNcclRunsThemAs) {
  EXPECT_EQ(family_of(collective(plan::CollectiveKind::shift)), "send_recv");
  EXPECT_EQ(family_of(plan::Transfer{}), "send_recv");
  EXPECT_EQ(family_of(collective(plan::CollectiveKind::reduce_scatter)), "reduce_scatter");
}

TEST(Family, CollectivesHaveMembers) {
  EXPECT_EQ(plan::members_of(collective(plan::CollectiveKind::all_gather, 8)), 8);
  EXPECT_EQ(plan::members_of(plan::Matmul{}), 0);
}

}  // namespace
