// tests/sim/search/pass_sections_test.cpp -- what of a pass's stretches stays apart.
// SPDX-License-Identifier: Apache-2.0
#include "sim/search/pass_sections.h"

#include <gtest/gtest.h>

#include "sim/engine/engine.h"
#include "tests/support/toy.h"

namespace {

constexpr std::uint8_t kKernels = sim::resource::kCompute, kFlies = sim::resource::kCommunication,
                       kLinks = sim::resource::kLinks;

spec::Job slowed_job() {
  return toy::job({.pp = 2}, [](spec::Job& j) { j.cluster.node.calibration.compute_slowdown = 1.3; });
}
std::vector<sim::PassSection> sections(const std::vector<sim::Stretch>& stretches) {
  const spec::Job job = slowed_job();
  return sim::sections_of(plan::Context(job), stretches);
}

TEST(PassSections, NeighboursThatShareNoLinkAreOneByTheirMean) {
  // Kernels alone for 1 s, that would be slowed by 1.3, and for 2 s beside communication that has slowed them already.
  const auto out = sections({{1, kKernels}, {3, kKernels | kFlies}});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_DOUBLE_EQ(out[0].end, 3);
  EXPECT_DOUBLE_EQ(out[0].transfer.pass, 1.1);
  EXPECT_EQ(out[0].transfer_link.load, 0);
}

TEST(PassSections, KernelsKeepTheirPaceBesideATransferOverTheNetwork) {
  // Two stages of 8 ranks each are two nodes.
  const spec::Job job =
      toy::job({.pp = 2, .dp = 8}, [](spec::Job& j) { j.cluster.node.calibration.compute_slowdown = 1.3; });
  const plan::Context c(job);
  ASSERT_TRUE(c.stage_transfer.crosses_domain);
  const auto out = sim::sections_of(c, {{1, kKernels}});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].transfer.pass, 1);
  EXPECT_EQ(out[0].exchange.pass, 1.3);
}

TEST(PassSections, CommunicationOverTheTransfersLinkIsWaitedForWhereItOutlastsItsKernels) {
  // Hidden in the first second; what flies in the third outlasts the kernels beside it.
  const std::uint8_t flies = kFlies | kLinks, both = kKernels | flies;
  const auto out = sections({{1, both}, {2, kKernels}, {3, both}, {4, flies}, {5, kKernels}});
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[0].transfer_link.load, 1);
  EXPECT_EQ(out[0].transfer_link.waits, 0);
  EXPECT_EQ(out[1].transfer_link.load, 0);
  EXPECT_DOUBLE_EQ(out[2].end, 4);
  EXPECT_EQ(out[2].transfer_link.load, 1);
  EXPECT_EQ(out[2].transfer_link.waits, 1);
  EXPECT_EQ(out[3].transfer_link.waits, 0);
}

TEST(PassSections, CommunicationThatKernelsHideMayOutlastThemBesideATransfer) {
  // Alone a second of kernels, and one of kernels that hide communication. Beside a transfer that takes 2 s longer: the
  // pass waits once more for as long as it took. On the link for one second of three, in which the transfer does but
  // half of what it could, it is a load of 1 / (2 x 3 - 1).
  const std::uint8_t both = kKernels | kFlies | kLinks;
  const sim::Course alone{{{1, kKernels}, {2, both}}, {1, 2}};
  const sim::Course beside{{{1, kKernels}, {2, both}, {4, kKernels}}, {1, 4}};
  const spec::Job job = slowed_job();
  const plan::Context c(job);
  std::vector<sim::PassSection> out = sim::sections_of(c, alone.stretches);
  ASSERT_EQ(out.size(), 2u);
  sim::measure(c, alone, beside, true, out);
  EXPECT_EQ(out[0].transfer_link.waits, 0);
  EXPECT_DOUBLE_EQ(out[1].transfer_link.waits, 2);
  EXPECT_DOUBLE_EQ(out[1].transfer_link.load, 0.2);
}

}  // namespace
