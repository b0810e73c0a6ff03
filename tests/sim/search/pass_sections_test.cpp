// tests/sim/search/pass_sections_test.cpp -- what of a pass's stretches stays apart.
// SPDX-License-Identifier: Apache-2.0
#include "sim/search/pass_sections.h"

#include <gtest/gtest.h>

#include "sim/engine/engine.h"
#include "tests/support/toy.h"

namespace {

constexpr std::uint8_t kKernels = sim::resource::kCompute, kFlies = sim::resource::kCommunication,
                       kLinks = sim::resource::kLinks;

std::vector<sim::PassSection> sections(const std::vector<sim::Stretch>& stretches) {
  const spec::Job job = toy::job({.pp = 2}, [](spec::Job& j) { j.cluster.node.calibration.compute_slowdown = 1.3; });
  return sim::sections_of(plan::Context(job), stretches);
}

TEST(PassSections, NeighboursThatShareNoLinkAreOneByTheirMean) {
  // Kernels alone for 1 s, that would be slowed by 1.3, and for 2 s beside communication that has slowed them already.
  const auto out = sections({{1, kKernels}, {3, kKernels | kFlies}});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_DOUBLE_EQ(out[0].end, 3);
  EXPECT_DOUBLE_EQ(out[0].transfer.pass, 1.1);
  EXPECT_FALSE(out[0].on_transfer_link);
}

TEST(PassSections, CommunicationOverTheTransfersLinkIsWaitedForWhereItOutlastsItsKernels) {
  // Hidden in the first second; what flies in the third outlasts the kernels beside it.
  const std::uint8_t flies = kFlies | kLinks, both = kKernels | flies;
  const auto out = sections({{1, both}, {2, kKernels}, {3, both}, {4, flies}, {5, kKernels}});
  ASSERT_EQ(out.size(), 4u);
  EXPECT_TRUE(out[0].on_transfer_link);
  EXPECT_FALSE(out[0].waits);
  EXPECT_FALSE(out[1].on_transfer_link);
  EXPECT_DOUBLE_EQ(out[2].end, 4);
  EXPECT_TRUE(out[2].on_transfer_link);
  EXPECT_TRUE(out[2].waits);
  EXPECT_FALSE(out[3].waits);
}

}  // namespace
