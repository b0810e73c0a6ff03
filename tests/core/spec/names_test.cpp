// tests/core/spec/names_test.cpp -- enumerations and their names in Job files. SPDX-License-Identifier: Apache-2.0
#include "core/spec/names.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string_view>

#include "core/spec/job.h"

namespace spec {
namespace {

/// Every name leads to a value of its own and back, and `last`, the last enumerator, has the last name.
template <Named E>
void expect_a_name_each(E last) {
  for (const std::string_view word : kNamesOf<E>) {
    const std::optional<E> value = named<E>(word);
    ASSERT_TRUE(value) << word;
    EXPECT_EQ(name(*value), word);
  }
  EXPECT_EQ(name(last), kNamesOf<E>.back());
}

TEST(Names, EveryValueHasOneOfItsOwn) {
  expect_a_name_each(Dtype::nvfp4);
  expect_a_name_each(Generation::cdna4);
  expect_a_name_each(Switch::nvswitch);
  expect_a_name_each(NicKind::slingshot);
  expect_a_name_each(Fabric::Kind::torus);
  expect_a_name_each(Algorithm::hierarchical);
  expect_a_name_each(Activation::clamped_swiglu);
  expect_a_name_each(Norm::rmsnorm);
  expect_a_name_each(Position::none);
  expect_a_name_each(Mode::decode);
  expect_a_name_each(Optimizer::muon);
  expect_a_name_each(Schedule::pipedream);
  expect_a_name_each(AttentionKernel::mem_efficient);
  expect_a_name_each(VocabParallel::pipeline);
  expect_a_name_each(TpOverlap::userbuffers);
  expect_a_name_each(CpKind::ulysses);
  expect_a_name_each(CpBalance::none);
  expect_a_name_each(MoeDispatcher::deepep);
  expect_a_name_each(Recompute::Kind::selective_ops);
  expect_a_name_each(LoraBase::nf4);
  expect_a_name_each(Offload::To::nvme);
  expect_a_name_each(UlyssesHeads::uneven);
}

TEST(Names, AreThoseOfJobFilesWhereCodeSpellsThemOtherwise) {
  EXPECT_EQ(name(Schedule::one_f_one_b), "1f1b");
  EXPECT_EQ(name(Schedule::zb_h1), "zb-h1");
  EXPECT_EQ(name(Algorithm::automatic), "auto");
}

TEST(Names, AWordThatNoValueHasIsNone) {
  EXPECT_EQ(named<Schedule>("zb_h1"), std::nullopt);
  EXPECT_EQ(named<Schedule>(""), std::nullopt);
}

TEST(Names, AValueWithoutANameIsNeverWrittenAsAnother) {
  EXPECT_THROW(static_cast<void>(name(static_cast<CpKind>(kNamesOf<CpKind>.size()))), std::out_of_range);
}

}  // namespace
}  // namespace spec
