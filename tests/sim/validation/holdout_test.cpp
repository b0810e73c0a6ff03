// tests/sim/validation/holdout_test.cpp -- choices made again without a group, on errors made up so that they can be
// seen. SPDX-License-Identifier: Apache-2.0
#include "sim/validation/holdout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace {

using sim::ChoiceSpace;
using sim::RowGroup;
using sim::Selection;

/// Errors that a table tells: of each row, for each choice, what each alternative adds to the log of its time.
class Toy {
 public:
  using Effects = std::vector<std::vector<std::vector<double>>>;  // by row, choice and alternative

  Toy(std::vector<double> errors, Effects effects) : base_(std::move(errors)), effects_(std::move(effects)) {}

  sim::ErrorsOf errors_of() {
    return [this](const Selection& at) -> const std::vector<double>& {
      const auto [known, is_new] = told_.try_emplace(at);
      for (std::size_t row = 0; is_new && row < base_.size(); ++row) {
        double error = base_[row];
        for (std::size_t c = 0; c < at.size(); ++c) error += effects_[row][c][at[c]];
        known->second.push_back(error);
      }
      return known->second;
    };
  }

 private:
  std::vector<double> base_;
  Effects effects_;
  std::map<Selection, std::vector<double>> told_;
};

/// The least loss of all combinations: the slow oracle.
double least_of_all(const ChoiceSpace& space, const std::vector<RowGroup>& groups, const sim::ErrorsOf& errors_of) {
  double least = INFINITY;
  Selection at(space.alternatives.size(), 0);
  for (bool more = true; more;) {
    least = std::min(least, sim::loss(groups, {}, errors_of(at)));
    more = false;
    for (std::size_t c = 0; c < at.size() && !more; ++c) {
      more = ++at[c] < space.alternatives[c];
      if (!more) at[c] = 0;
    }
  }
  return least;
}

TEST(Loss, IsTheMeanOfTheGroupsMediansWhateverTheirSize) {
  // Medians of 0.1 0.2 0.3 and of 0.4: a mean of 0.3, though three rows of four lie below it.
  const std::vector<RowGroup> groups{{"three", {0, 1, 2}}, {"one", {3}}};
  const std::vector<double> errors{-0.1, 0.2, 0.3, -0.4};
  EXPECT_DOUBLE_EQ(sim::loss(groups, {}, errors), 0.3);
  EXPECT_DOUBLE_EQ(sim::loss(groups, 0, errors), 0.4);
  EXPECT_DOUBLE_EQ(sim::loss(groups, 1, errors), 0.2);
}

TEST(Refit, AnAlternativeThatOneGroupAloneTellsOfIsNotKnownWithoutIt) {
  // Group a is met by the second alternative, which only a tells of; b sees no difference. With a the second is chosen;
  // without a it is not known, though it is the present one, and the first stays.
  const std::vector<RowGroup> groups{{"a", {0}}, {"b", {1}}, {"c", {2}}};
  Toy toy({0.2, 0.1, 0.1}, {{{0, -0.2}}, {{0, 0}}, {{0, 0}}});
  const ChoiceSpace space{.alternatives = {2}, .present = {1}, .told_by = {{"", "a"}}};
  EXPECT_EQ(sim::refit(space, groups, {}, toy.errors_of()), Selection{1});
  EXPECT_EQ(sim::refit(space, groups, 0, toy.errors_of()), Selection{0});
  EXPECT_EQ(sim::refit(space, groups, 1, toy.errors_of()), Selection{1});  // b and c told of nothing
}

TEST(Refit, IsTheBestOfAllCombinationsWhereEachGroupSeesOneChoice) {
  // Twelve groups of five rows; group g sees choice g % 3 alone, so the loss is a sum of one function a choice.
  std::mt19937 random(11);
  std::uniform_real_distribution<double> effect(-0.3, 0.3);
  for (int round = 0; round < 200; ++round) {
    std::vector<RowGroup> groups;
    std::vector<double> errors;
    Toy::Effects effects;
    for (std::size_t g = 0; g < 12; ++g) {
      groups.push_back({std::to_string(g), {}});
      for (int i = 0; i < 5; ++i) {
        groups.back().rows.push_back(errors.size());
        errors.push_back(effect(random));
        effects.push_back({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}});
        for (double& added : effects.back()[g % 3]) added = effect(random);
      }
    }
    Toy toy(errors, effects);
    const ChoiceSpace space{{3, 3, 3}, {1, 1, 1}};
    const sim::ErrorsOf errors_of = toy.errors_of();
    const Selection found = sim::refit(space, groups, {}, errors_of);
    EXPECT_NEAR(sim::loss(groups, {}, errors_of(found)), least_of_all(space, groups, errors_of), 1e-12) << round;
  }
}

TEST(Refit, StopsWhereNoSingleChangeIsBetterThoughTwoTogetherWouldBe) {
  // Either change alone makes the error 0.3 or -0.3, both together 0: from 0.2 the descent does not cross.
  const std::map<Selection, std::vector<double>> table{
      {{0, 0}, {0.2}}, {{0, 1}, {0.3}}, {{1, 0}, {-0.3}}, {{1, 1}, {0}}};
  const auto errors_of = [&](const Selection& at) -> const std::vector<double>& { return table.at(at); };
  const ChoiceSpace space{{2, 2}, {0, 0}};
  const std::vector<RowGroup> groups{{"a", {0}}};
  EXPECT_EQ(sim::refit(space, groups, {}, errors_of), (Selection{0, 0}));
  EXPECT_EQ(least_of_all(space, groups, errors_of), 0);
}

TEST(Refit, KeepsThePresentAlternativeOnATie) {
  Toy toy({0.1, 0.2}, {{{0, 0, 0}}, {{0, 0, 0}}});
  EXPECT_EQ(sim::refit({{3}, {1}}, {{"a", {0}}, {"b", {1}}}, {}, toy.errors_of()), Selection{1});
}

TEST(HoldOut, AChoiceThatOnlyMendsItsOwnSourceIsWorseHeldOut) {
  // The second alternative takes 0.4 off the first source and adds 0.1 to the others. In-sample it is taken: medians
  // 0.1, 0.2, 0.2 (0.5 / 3) instead of 0.5, 0.1, 0.1 (0.7 / 3). Without the first source nobody wants it, and that is
  // at 0.5.
  Toy toy({0.5, 0.1, 0.1}, {{{0, -0.4}}, {{0, 0.1}}, {{0, 0.1}}});
  const result::Holdout told = sim::hold_out({{2}, {1}}, {{"leaky", {0}}, {"b", {1}}, {"c", {2}}}, toy.errors_of());
  EXPECT_EQ(told.choices[0].in_sample, 1u);
  EXPECT_NEAR(told.in_sample.median_abs_error, 0.5 / 3, 1e-12);
  EXPECT_NEAR(told.present.median_abs_error, 0.5 / 3, 1e-12);
  ASSERT_EQ(told.groups[0].changes.size(), 1u);
  EXPECT_EQ(told.groups[0].changes[0].alternative, 0u);
  EXPECT_NEAR(told.groups[0].held_out.median_abs_error, 0.5, 1e-12);
  // Without b or c: 0.5 + 0.1 against 0.1 + 0.2, so the choice stays and they are at 0.2.
  EXPECT_TRUE(told.groups[1].changes.empty());
  EXPECT_NEAR(told.groups[1].held_out.median_abs_error, 0.2, 1e-12);
  EXPECT_NEAR(told.held_out.median_abs_error, 0.9 / 3, 1e-12);
  EXPECT_NEAR(told.ratio, 0.9 / 0.5, 1e-12);
}

TEST(HoldOut, AChoiceThatEverySourceWantsIsNoWorse) {
  Toy toy({0.5, 0.4, 0.3}, {{{0, -0.3}}, {{0, -0.3}}, {{0, -0.3}}});
  const result::Holdout told = sim::hold_out({{2}, {0}}, {{"a", {0}}, {"b", {1}}, {"c", {2}}}, toy.errors_of());
  EXPECT_EQ(told.choices[0].in_sample, 1u);
  EXPECT_NEAR(told.present.median_abs_error, 0.4, 1e-12);    // (0.5 + 0.4 + 0.3) / 3
  EXPECT_NEAR(told.in_sample.median_abs_error, 0.1, 1e-12);  // (0.2 + 0.1 + 0) / 3
  EXPECT_NEAR(told.ratio, 1, 1e-12);
}

TEST(HoldOut, EachAlternativeIsToldAloneAndBesideTheRefit) {
  // Choice 0 takes 0.2 off both rows, choice 1 takes 0.1 off the first. Both are wanted.
  Toy toy({0.5, 0.3}, {{{0, -0.2}, {0, -0.1}}, {{0, -0.2}, {0, 0}}});
  const result::Holdout told = sim::hold_out({{2, 2}, {0, 0}}, {{"a", {0}}, {"b", {1}}}, toy.errors_of());
  const auto& one = told.choices[1].alternatives;
  EXPECT_NEAR(one[0].alone, 0.4, 1e-12);          // 0.5, 0.3
  EXPECT_NEAR(one[1].alone, 0.35, 1e-12);         // 0.4, 0.3
  EXPECT_NEAR(one[0].beside_refit, 0.2, 1e-12);   // 0.3, 0.1
  EXPECT_NEAR(one[1].beside_refit, 0.15, 1e-12);  // 0.2, 0.1
  EXPECT_EQ(one[0].rows, 0);
  EXPECT_EQ(one[1].rows, 1);
}

TEST(HoldOut, FiguresAreOfTheRowsOfAGroup) {
  Toy toy({-0.1, 0.2, -0.6, 0.1}, {{{0}}, {{0}}, {{0}}, {{0}}});
  const result::Holdout told = sim::hold_out({{1}, {0}}, {{"a", {0, 1, 2}}, {"b", {3}}}, toy.errors_of());
  EXPECT_NEAR(told.groups[0].present.median_abs_error, 0.2, 1e-12);
  EXPECT_NEAR(told.groups[0].present.mape, 0.3, 1e-12);  // (0.1 + 0.2 + 0.6) / 3
  EXPECT_NEAR(told.groups[0].present.mean_signed_error, -0.5 / 3, 1e-12);
  EXPECT_NEAR(told.present.mean_signed_error, (-0.5 / 3 + 0.1) / 2, 1e-12);  // each group weighs alike
}

}  // namespace
