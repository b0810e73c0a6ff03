// SPDX-License-Identifier: Apache-2.0
#include "core/plan/family.h"

#include <gtest/gtest.h>

namespace {

using plan::family_of;

TEST(Family, ForwardAndBackwardOfAttentionAreTwo) {
  EXPECT_EQ(family_of(plan::Attention{.backward = false}), "attention forward");
  EXPECT_EQ(family_of(plan::Attention{.backward = true}), "attention backward");
}

TEST(Family, MemoryBoundKernelsAreNamedByTheirKind) {
  EXPECT_EQ(family_of(plan::MemoryBound{.kind = plan::MemoryBound::Kind::norm}), "norm");
  EXPECT_EQ(family_of(plan::MemoryBound{.kind = plan::MemoryBound::Kind::optimizer}), "optimizer");
}

TEST(Family, RingHopsAndTransfersAreWhatNcclRunsThemAs) {
  EXPECT_EQ(family_of(plan::Collective{.kind = plan::CollectiveKind::shift}), "send_recv");
  EXPECT_EQ(family_of(plan::Transfer{}), "send_recv");
  EXPECT_EQ(family_of(plan::Collective{.kind = plan::CollectiveKind::reduce_scatter}), "reduce_scatter");
}

TEST(Family, CollectivesHaveMembers) {
  EXPECT_EQ(plan::members_of(plan::Collective{.group = {.size = 8}}), 8);
  EXPECT_EQ(plan::members_of(plan::Matmul{}), 0);
}

}  // namespace
