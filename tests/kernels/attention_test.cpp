// tests/kernels/attention_test.cpp -- kernels/attention.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include <algorithm>
#include <limits>

#include "tests/kernels/gradients.h"

namespace {

using kernels::Attention;
using test::Values;
namespace reference = kernels::reference;

struct Tensors {
  explicit Tensors(const Attention& a)
      : q(test::random_values(a.batch * a.queries * a.heads * a.head_dim, 1)),
        k(test::random_values(a.batch * a.keys * a.kv_heads * a.head_dim, 2)),
        v(test::random_values(a.batch * a.keys * a.kv_heads * a.value_dim, 3)),
        out(a.batch * a.queries * a.heads * a.value_dim, -1),
        lse(a.batch * a.heads * a.queries, -1) {}
  Values q, k, v, out, lse;
};

TEST(AttentionKernel, TwoEqualScoresShareTheirValues) {
  // q = 0: both scores 0, so each weighs a half, and lse = log 2.
  const Attention shape{1, 1, 2, 1, 1, 1, 2};
  Values out(2), lse(1);
  reference::attention_forward(shape, Values{0}, Values{3, 4}, Values{1, 2, 3, 6}, out, lse);
  EXPECT_EQ(out, (Values{2, 4}));
  EXPECT_NEAR(lse[0], std::log(2), 1e-15);
}

TEST(AttentionKernel, ACausalQuerySeesUpToItsPlaceAndAWindowOnlyTheLast) {
  const Attention causal{.causal = true, .offset = 2};
  EXPECT_TRUE(causal.sees(1, 3));
  EXPECT_FALSE(causal.sees(1, 4));
  const Attention window{.causal = true, .offset = 2, .window = 2};
  EXPECT_TRUE(window.sees(1, 2));
  EXPECT_FALSE(window.sees(1, 1));
}

TEST(AttentionKernel, AQueryThatSeesNothingGivesZeroAndNoSum) {
  const Attention shape{.batch = 1,
                        .queries = 2,
                        .keys = 1,
                        .heads = 1,
                        .kv_heads = 1,
                        .head_dim = 1,
                        .value_dim = 1,
                        .causal = true,
                        .offset = -1};
  Tensors t(shape);
  reference::attention_forward(shape, t.q, t.k, t.v, t.out, t.lse);
  EXPECT_EQ(t.out[0], 0);
  EXPECT_EQ(t.lse[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(t.out[1], t.v[0]);
}

TEST(AttentionKernel, OfNoKeysIsZeroAndNoSum) {
  const Attention shape{2, 3, 0, 2, 1, 2, 2, 0.7, true};
  Tensors t(shape);
  reference::attention_forward(shape, t.q, {}, {}, t.out, t.lse);
  EXPECT_EQ(t.out, Values(t.out.size(), 0));
  EXPECT_EQ(t.lse, Values(t.lse.size(), -std::numeric_limits<double>::infinity()));
}

/// Plain, causal at an offset, grouped heads with other value dimensions, a window, dropout.
const Attention kShapes[] = {
    {2, 3, 4, 2, 2, 3, 3, 0.6},
    {1, 4, 6, 2, 1, 3, 5, 0.6, true, 2},
    {1, 4, 4, 4, 2, 2, 1, 0.7, true},
    {1, 6, 6, 2, 2, 2, 2, 0.7, true, 0, 3},
    {1, 3, 5, 2, 2, 2, 2, 0.7, true, -1},                                // the first query sees nothing
    {2, 4, 4, 4, 2, 2, 3, 0.7, true, 0, 0, {0.4, 9, 100}, {64, 16, 4}},  // dropout
    {1, 3, 5, 3, 3, 2, 2, 0.7, true, 2, 0, {}, {}, {6, 3}},              // linear biases: the last three of six heads
    {1, 3, 5, 2, 1, 2, 2, 0.7, false, 1, 0, {}, {}, {2, 0}},             // and without a mask
};

TEST(Alibi, SlopesAreThoseOfThePaper) {
  // Of 8 heads 1/2, 1/4, ..., 1/256. Of 6 those of 4, 1/4, 1/16, 1/64, 1/256, then the first and third of 8.
  for (std::int64_t head = 0; head < 8; ++head) {
    EXPECT_EQ((kernels::Alibi{8, 0}.slope(head)), std::pow(2, -1 - head)) << head;
  }
  const double six[] = {1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 2, 1.0 / 8};
  for (std::int64_t head = 0; head < 6; ++head) EXPECT_EQ((kernels::Alibi{6, 0}.slope(head)), six[head]) << head;
  EXPECT_EQ((kernels::Alibi{6, 3}.slope(1)), six[4]);  // the second head of the second of two ranks
  EXPECT_EQ(kernels::Alibi{}.slope(3), 0);
}

TEST(AttentionKernel, LinearBiasesLowerScoresByDistance) {
  // Equal products; of two heads the first has the slope 1/16: keys 2, 1 and 0 places behind weigh e^(-2/16),
  // e^(-1/16), 1.
  const Attention shape{.batch = 1,
                        .queries = 1,
                        .keys = 3,
                        .heads = 1,
                        .kv_heads = 1,
                        .head_dim = 1,
                        .value_dim = 1,
                        .causal = true,
                        .offset = 2,
                        .alibi = {2, 0}};
  Values out(1), lse(1);
  reference::attention_forward(shape, Values{0}, Values{3, 4, 5}, Values{1, 10, 100}, out, lse);
  const double far = std::exp(-2.0 / 16), near = std::exp(-1.0 / 16);
  EXPECT_NEAR(out[0], (far + 10 * near + 100) / (far + near + 1), 1e-12);
  EXPECT_NEAR(lse[0], std::log(far + near + 1), 1e-15);
}

TEST(AttentionKernel, DropsTheProbabilitiesThatTheStreamSays) {
  // The second sequence's keys 3 and 4 with equal scores have probability 1/2 each; kept, it is divided by 1 - p. The
  // sum of exponentials is of both, 2, whatever is dropped.
  const kernels::Dropout stream{0.5, 11, 40};
  const Attention shape{.batch = 2,
                        .queries = 1,
                        .keys = 2,
                        .heads = 1,
                        .kv_heads = 1,
                        .head_dim = 1,
                        .value_dim = 2,
                        .dropout = stream,
                        .places = {.sequence = 6, .head = 0, .query = 0}};
  Values out(4), lse(2);
  reference::attention_forward(shape, Values{0, 0}, Values{3, 4, 3, 4}, Values{1, 0, 0, 1, 1, 0, 0, 1}, out, lse);
  Values kept(8);  // places 40 to 47
  reference::dropout(stream, Values(8, 1.0), kept);
  EXPECT_EQ(out, (Values{kept[0] / 2, kept[1] / 2, kept[6] / 2, kept[7] / 2}));
  EXPECT_EQ(lse[1], std::log(2));
}

class AttentionShape : public testing::TestWithParam<Attention> {};

TEST_P(AttentionShape, BackwardIsTheGradient) {
  const Attention shape = GetParam();
  Tensors t(shape);
  const Values dout = test::random_values(t.out.size(), 4);
  reference::attention_forward(shape, t.q, t.k, t.v, t.out, t.lse);
  Values dq(t.q.size(), 9), dk(t.k.size(), 9), dv(t.v.size(), 9);
  reference::attention_backward(shape, t.q, t.k, t.v, t.out, t.lse, dout, dq, dk, dv);
  const auto loss = [&](const Values& q, const Values& k, const Values& v) {
    Tensors other(shape);
    reference::attention_forward(shape, q, k, v, other.out, other.lse);
    return test::dot(other.out, dout);
  };
  test::expect_gradient(t.q, dq, [&](const Values& q) { return loss(q, t.k, t.v); });
  test::expect_gradient(t.k, dk, [&](const Values& k) { return loss(t.q, k, t.v); });
  test::expect_gradient(t.v, dv, [&](const Values& v) { return loss(t.q, t.k, v); });
}

/// Keys from `begin` to `end` of a tensor [batch, keys, row].
Values keys_of(const Values& whole, const Attention& a, std::int64_t row, std::int64_t begin, std::int64_t end) {
  Values part;
  for (std::int64_t batch = 0; batch < a.batch; ++batch) {
    const auto first = whole.begin() + batch * a.keys * row;
    part.insert(part.end(), first + begin * row, first + end * row);
  }
  return part;
}

TEST_P(AttentionShape, BlocksOfKeysMergeToTheWholeForwardAndBackward) {
  const Attention shape = GetParam();
  Tensors whole(shape);
  reference::attention_forward(shape, whole.q, whole.k, whole.v, whole.out, whole.lse);
  const Values dout = test::random_values(whole.out.size(), 4);
  Values dq(whole.q.size()), dk(whole.k.size()), dv(whole.v.size());
  reference::attention_backward(shape, whole.q, whole.k, whole.v, whole.out, whole.lse, dout, dq, dk, dv);

  Values out(whole.out.size()), lse(whole.lse.size(), -std::numeric_limits<double>::infinity());
  Values dq_sum(dq.size());
  const std::int64_t k_row = shape.kv_heads * shape.head_dim, v_row = shape.kv_heads * shape.value_dim;
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{2, shape.keys}, {0, 2}}) {
    Attention block = shape;
    block.keys = end - begin;
    block.offset = shape.offset - begin;
    block.dropout.offset = shape.dropout.offset + begin;
    const Values k = keys_of(whole.k, shape, k_row, begin, end), v = keys_of(whole.v, shape, v_row, begin, end);
    Tensors part(block);
    reference::attention_forward(block, whole.q, k, v, part.out, part.lse);
    reference::attention_merge(shape, part.out, part.lse, out, lse);

    Values dq_part(dq.size()), dk_part(k.size()), dv_part(v.size());
    reference::attention_backward(block, whole.q, k, v, whole.out, whole.lse, dout, dq_part, dk_part, dv_part);
    for (std::size_t i = 0; i < dq.size(); ++i) dq_sum[i] += dq_part[i];
    EXPECT_LT(test::distance(dk_part, keys_of(dk, shape, k_row, begin, end)), 1e-14);
    EXPECT_LT(test::distance(dv_part, keys_of(dv, shape, v_row, begin, end)), 1e-14);
  }
  EXPECT_LT(test::distance(out, whole.out), 1e-14);
  EXPECT_LT(test::distance(dq_sum, dq), 1e-14);
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (std::isfinite(whole.lse[i])) {
      EXPECT_NEAR(lse[i], whole.lse[i], 1e-14);
    } else {
      EXPECT_EQ(lse[i], whole.lse[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionShape, testing::ValuesIn(kShapes));

// Two shapes that a library plans or refuses apart must not be taken for one another; a shape that is met again in the
// next microbatch, where dropout draws other numbers, must be.
TEST(Attention, IsPlannedByAllButTheNumbersThatDropoutDraws) {
  const Attention a{1, 64, 64, 2, 2, 192, 192, 0.072, true};
  Attention narrow = a, dropped = a;
  narrow.value_dim = 128;
  dropped.dropout.probability = 0.1;
  EXPECT_NE(narrow.planned(), a.planned());
  EXPECT_NE(dropped.planned(), a.planned());
  Attention next = dropped;
  next.dropout.seed = 7;
  next.dropout.offset = 1 << 20;
  next.places = {4096, 64, 64};
  EXPECT_EQ(next.planned(), dropped.planned());
}

}  // namespace
