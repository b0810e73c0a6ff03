// tests/gpu/moe_test.cpp -- router and permutation of the GPU against their CPU references.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/capacity.h"
#include "kernels/permute.h"
#include "kernels/router.h"
#include "tests/gpu/device_array.h"

namespace {

using kernels::Element;
using test::Array;
using test::Device;
using test::Values;
using Ids = std::vector<std::int32_t>;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

class MoeKernel : public test::Kernel {
 protected:
  static constexpr std::int64_t kTokens = 301, kExperts = 40, kTopK = 6, kChoices = kTokens * kTopK;
  kernels::Router router_{kTokens, kExperts, kTopK, 0.5};
  kernels::Permute permute_{kTokens, kTopK, kExperts, GetParam().width};
  // Distinct logits of a token, or a tie would be broken by rounding: 40 steps of 1/8, in a random order.
  Values logits() const {
    Values values;
    for (int token = 0; token < kTokens; ++token) {
      for (int e = 0; e < kExperts; ++e) values.push_back((e * 7 + token * 13) % kExperts / 8.0);
    }
    return values;
  }
};

TEST_P(MoeKernel, RouterAgreesForwardAndBackward) {
  const Values x = logits(), dweights = test::random_elements(Element::f32, kChoices, 2);
  Values p(x.size()), weights(kChoices), dx(x.size());
  Ids experts(kChoices), counts(kExperts);
  reference::router_forward(router_, x, p, experts, weights);
  for (int e : experts) ++counts[e];
  reference::router_backward(router_, p, experts, counts, dweights, 2, dx);
  const Array d_x(element(), x), d_p(Element::f32, x.size()), d_weights(Element::f32, kChoices);
  const Array d_dweights(Element::f32, dweights), d_dx(element(), x.size()), d_loss(Element::f32, Values{1});
  const Device<std::int32_t> d_experts(kChoices), d_counts(counts);
  gpu::router_forward(router_, element(), d_x.data(), d_p.floats(), d_experts.data(), d_weights.floats(), nullptr);
  gpu::router_auxiliary_loss(router_, d_p.floats(), d_counts.data(), d_loss.floats(), nullptr);
  gpu::router_backward(router_, element(), d_p.floats(), d_experts.data(), d_counts.data(), d_dweights.floats(), 2,
                       d_dx.data(), nullptr);
  EXPECT_EQ(d_experts.values(), experts);
  test::expect_close(d_p.values(), p, 1e-5, "probabilities");
  test::expect_close(d_weights.values(), weights, 1e-5, "weights");
  EXPECT_NEAR(d_loss.values()[0], 1 + reference::router_auxiliary_loss(router_, p, counts), 1e-5);
  test::expect_close(d_dx.values(), dx, close(), "dlogits");
}

TEST_P(MoeKernel, PermuteAndUnpermuteAgree) {
  Values p(logits().size()), weights(kChoices);
  Ids experts(kChoices), counts(kExperts), rows(kChoices);
  reference::router_forward(router_, logits(), p, experts, weights);
  for (double& weight : weights) weight = static_cast<float>(weight);
  reference::permute_plan(permute_, experts, counts, rows);
  const Values x = random(kTokens * width(), 1), value = random(kChoices * width(), 2),
               dy = random(kTokens * width(), 3);
  Values sorted(value.size()), dx(x.size()), y(x.size()), dsorted(value.size()), dweights(kChoices);
  reference::permute_forward(permute_, rows, x, sorted);
  reference::permute_backward(permute_, rows, value, dx);
  reference::unpermute_forward(permute_, rows, weights, value, y);
  reference::unpermute_backward(permute_, rows, weights, value, dy, dsorted, dweights);

  const Device<std::int32_t> d_experts(experts), d_counts(kExperts), d_rows(kChoices);
  const Array d_weights(Element::f32, weights), d_x(element(), x), d_value(element(), value), d_dy(element(), dy);
  const Array d_sorted(element(), value.size()), d_dx(element(), x.size()), d_y(element(), x.size());
  const Array d_dsorted(element(), value.size()), d_dweights(Element::f32, kChoices);
  gpu::permute_plan(permute_, d_experts.data(), d_counts.data(), d_rows.data(), nullptr);
  EXPECT_EQ(d_counts.values(), counts);
  ASSERT_EQ(d_rows.values(), rows);
  gpu::permute_forward(permute_, element(), d_rows.data(), d_x.data(), d_sorted.data(), nullptr);
  gpu::permute_backward(permute_, element(), d_rows.data(), d_value.data(), d_dx.data(), nullptr);
  gpu::unpermute_forward(permute_, element(), d_rows.data(), d_weights.floats(), d_value.data(), d_y.data(), nullptr);
  gpu::unpermute_backward(permute_, element(), d_rows.data(), d_weights.floats(), d_value.data(), d_dy.data(),
                          d_dsorted.data(), d_dweights.floats(), nullptr);
  EXPECT_EQ(d_sorted.values(), sorted);
  test::expect_close(d_dx.values(), dx, close(), "dx");
  test::expect_close(d_y.values(), y, close(), "y");
  test::expect_close(d_dsorted.values(), dsorted, close(), "dsorted");
  test::expect_close(d_dweights.values(), dweights, 1e-5, "dweights");
}

TEST_P(MoeKernel, ACapacityDropsTheSameChoicesOfTheExpertsThatAreHeld) {
  // 301 x 6 choices of 40 experts are 45 each: with 30 rows a third is dropped. 10 experts have rows here.
  Values p(logits().size()), weights(kChoices);
  Ids experts(kChoices), kept(kChoices), counts(kExperts), rows(kChoices);
  reference::router_forward(router_, logits(), p, experts, weights);
  for (double& weight : weights) weight = static_cast<float>(weight);
  kernels::Permute shape = permute_;
  shape.capacity = 30;
  shape.first = shape.held = 10;
  reference::drop_choices(shape, experts, weights, kept);
  reference::permute_plan(shape, kept, counts, rows);
  const std::int64_t held = shape.held * shape.capacity * width();
  const Values x = random(kTokens * width(), 1), value = random(held, 2), dy = random(kTokens * width(), 3);
  Values sorted(held), y(x.size()), dsorted(held), dweights(kChoices);
  reference::permute_forward(shape, rows, x, sorted);
  reference::unpermute_forward(shape, rows, weights, value, y);
  reference::unpermute_backward(shape, rows, weights, value, dy, dsorted, dweights);

  const Device<std::int32_t> d_experts(experts), d_kept(kChoices), d_counts(kExperts), d_rows(kChoices);
  const Array d_weights(Element::f32, weights), d_x(element(), x), d_value(element(), value), d_dy(element(), dy);
  const Array d_sorted(element(), Values(held)), d_y(element(), x.size()), d_dsorted(element(), Values(held));
  const Array d_dweights(Element::f32, kChoices);
  gpu::drop_choices(shape, d_experts.data(), d_weights.floats(), d_kept.data(), nullptr);
  EXPECT_EQ(d_kept.values(), kept);
  gpu::permute_plan(shape, d_kept.data(), d_counts.data(), d_rows.data(), nullptr);
  ASSERT_EQ(d_rows.values(), rows);
  gpu::permute_forward(shape, element(), d_rows.data(), d_x.data(), d_sorted.data(), nullptr);
  gpu::unpermute_forward(shape, element(), d_rows.data(), d_weights.floats(), d_value.data(), d_y.data(), nullptr);
  gpu::unpermute_backward(shape, element(), d_rows.data(), d_weights.floats(), d_value.data(), d_dy.data(),
                          d_dsorted.data(), d_dweights.floats(), nullptr);
  EXPECT_EQ(d_sorted.values(), sorted);
  test::expect_close(d_y.values(), y, close(), "y");
  test::expect_close(d_dsorted.values(), dsorted, close(), "dsorted");
  test::expect_close(d_dweights.values(), dweights, 1e-5, "dweights");
}

/// A model that has diverged: the loss is to say so, no kernel to leave its arrays. Tokens 7 and 8 have a logit that is
/// no number, and then no probability and no weight of them is one; their experts are those that exist.
TEST_P(MoeKernel, LogitsThatAreNoNumbersGiveWeightsThatAreNone) {
  Values x = logits();
  x[7 * kExperts + 3] = NAN;
  x[8 * kExperts] = INFINITY;
  Values p(x.size()), weights(kChoices);
  Ids experts(kChoices), kept(kChoices), counts(kExperts), rows(kChoices);
  reference::router_forward(router_, x, p, experts, weights);
  const Array d_x(element(), x), d_p(Element::f32, x.size()), d_weights(Element::f32, kChoices);
  const Device<std::int32_t> d_experts(kChoices), d_kept(kChoices), d_counts(kExperts), d_rows(kChoices);
  gpu::router_forward(router_, element(), d_x.data(), d_p.floats(), d_experts.data(), d_weights.floats(), nullptr);
  ASSERT_EQ(d_experts.values(), experts);
  const Values got = d_weights.values();
  for (int i = 0; i < kChoices; ++i) EXPECT_EQ(std::isnan(got[i]), i / kTopK == 7 || i / kTopK == 8) << i;

  // Every expert takes 30 of its choices, these among them, and has rows for no more.
  kernels::Permute shape = permute_;
  shape.capacity = 30;
  reference::drop_choices(shape, experts, weights, kept);
  gpu::drop_choices(shape, d_experts.data(), d_weights.floats(), d_kept.data(), nullptr);
  EXPECT_EQ(d_kept.values(), kept);
  reference::permute_plan(shape, kept, counts, rows);
  gpu::permute_plan(shape, d_kept.data(), d_counts.data(), d_rows.data(), nullptr);
  EXPECT_EQ(d_rows.values(), rows);
  EXPECT_LE(*std::ranges::max_element(counts), 30);
  EXPECT_GE(rows[7 * kTopK], 0);
}

TEST_P(MoeKernel, AChoiceOfNoExpertHasNoRow) {
  // -1, 0, ... 39 in turn, each 11th of them an id beyond all experts.
  Ids experts(kChoices), counts(kExperts), rows(kChoices);
  for (int i = 0; i < kChoices; ++i) experts[i] = i % (kExperts + 1) - 1;
  for (int i = 0; i < kChoices; i += 11) experts[i] = static_cast<int>(kExperts) + i;
  reference::permute_plan(permute_, experts, counts, rows);
  const Device<std::int32_t> d_experts(experts), d_counts(kExperts), d_rows(kChoices);
  gpu::permute_plan(permute_, d_experts.data(), d_counts.data(), d_rows.data(), nullptr);
  EXPECT_EQ(d_counts.values(), counts);
  EXPECT_EQ(d_rows.values(), rows);
  EXPECT_EQ(rows[0], -1);   // 40 and beyond
  EXPECT_EQ(rows[41], -1);  // -1
}

INSTANTIATE_TEST_SUITE_P(Gpu, MoeKernel, test::kCases, test::case_name);

}  // namespace
