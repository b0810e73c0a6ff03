// tests/core/plan/fresh_gradients_test.cpp -- gradients that a step makes anew, where a framework frees them between
// steps. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/plan/states.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Category;

spec::Job job(bool fresh, const toy::Cut& cut) {
  return toy::job(cut, [=](spec::Job& j) { j.framework.fresh_gradients = fresh; });
}

/// Bytes of gradients that are there before each backward operator of a step.
std::vector<std::int64_t> levels(const plan::Plan& p) {
  const plan::Role& role = p.roles[0];
  std::int64_t level = role.resident[static_cast<int>(Category::gradients)];
  std::vector<std::int64_t> out;
  for (const plan::Call& call : role.calls) {
    const plan::Segment& segment = p.segments[call.segment];
    std::size_t next = 0;
    for (std::size_t i = 0; i < segment.operators.size(); ++i) {
      for (; next < segment.memory.size() && segment.memory[next].at <= static_cast<std::int32_t>(i) &&
             !(segment.memory[next].after && segment.memory[next].at == static_cast<std::int32_t>(i));
           ++next) {
        if (segment.memory[next].category == Category::gradients) level += segment.memory[next].bytes;
      }
      if (segment.operators[i].phase == plan::Phase::backward) out.push_back(level);
    }
    for (; next < segment.memory.size(); ++next) {
      if (segment.memory[next].category == Category::gradients) level += segment.memory[next].bytes;
    }
  }
  EXPECT_EQ(level, role.resident[static_cast<int>(Category::gradients)]);
  return out;
}

TEST(FreshGradients, OfALoneMicrobatchComeLayerByLayer) {
  const spec::Job lone = job(true, {});
  const plan::Plan p = plan::build(lone);
  const std::vector<std::int64_t> level = levels(p);
  EXPECT_EQ(level.front(), 0);
  EXPECT_TRUE(std::ranges::is_sorted(level));
  // 4 bytes each: the head's are there in front of the last layer's backward, with that one's own, and so on.
  const plan::Context c(lone);
  const std::int64_t head = 4 * plan::last_parameters(c).total(), layer = 4 * plan::layer_parameters(c, 3).total();
  for (const std::int64_t there : {head + layer, head + 2 * layer, head + 3 * layer}) {
    EXPECT_NE(std::ranges::find(level, there), level.end()) << there;
  }
  EXPECT_EQ(level.back(), p.roles[0].resident[static_cast<int>(Category::gradients)]);
}

TEST(FreshGradients, StayWhereSeveralMicrobatchesAreAddedUpOrTheFrameworkKeepsThem) {
  const auto least = [](bool fresh, const toy::Cut& cut) {
    const std::vector<std::int64_t> all = levels(plan::build(job(fresh, cut)));
    return *std::ranges::min_element(all);
  };
  EXPECT_GT(least(true, {.microbatches = 2}), 0);
  EXPECT_GT(least(false, {}), 0);
  EXPECT_GT(least(true, {.pp = 2}), 0);
}

TEST(FreshGradients, OfShardsAreASharesBytes) {
  const spec::Job cut = job(true, {.dp = 4, .zero = 3}), whole = job(true, {.dp = 4, .zero = 1});
  const plan::Context c(cut);
  const plan::Held one{.dense = 4'000};
  EXPECT_EQ(plan::fresh_gradients(c, one), 1'000 * plan::owned_gradient_element(c));
  EXPECT_EQ(plan::fresh_gradients(plan::Context(whole), one), 0);  // views of DDP's buckets
  EXPECT_EQ(plan::fresh_gradients(plan::Context(job(true, {})), one), 4'000 * 4);
  const spec::Job copied =
      toy::job({.dp = 4}, [](spec::Job& j) { j.framework.fresh_gradients = j.framework.bucket_copies = true; });
  EXPECT_EQ(plan::fresh_gradients(plan::Context(copied), one), 4'000 * 4);  // beside the buckets
}

}  // namespace
