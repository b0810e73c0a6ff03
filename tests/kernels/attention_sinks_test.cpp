// tests/kernels/attention_sinks_test.cpp -- kernels/attention_sinks.h, and the sinks of kernels/softmax.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_sinks.h"

#include <limits>

#include "kernels/softmax.h"
#include "tests/kernels/gradients.h"

namespace {

using kernels::Attention;
using test::Values;
namespace reference = kernels::reference;

const Attention kShape{2, 4, 4, 4, 2, 2, 3, 0.7, true, 0, 3, {0.3, 5, 0}, {64, 16, 4}};  // a window, dropout

struct Attended {
  Attended(const Values& q, const Values& k, const Values& v, const Values& sinks)
      : out(kShape.batch * kShape.queries * kShape.heads * kShape.value_dim),
        lse(kShape.batch * kShape.heads * kShape.queries) {
    reference::attention_forward(kShape, q, k, v, out, lse);
    reference::attention_sinks_forward(kShape, sinks, out, lse);
  }
  Values out, lse;
};

TEST(AttentionSinks, AreAKeyWithoutAValue) {
  // One query on one key: the score's exponential is 1 to the sink's 3, so a quarter of the value is left.
  const Attention a{1, 1, 1, 1, 1, 1, 2};
  Values out{8, -4}, lse{0};
  reference::attention_sinks_forward(a, Values{std::log(3)}, out, lse);
  EXPECT_NEAR(out[0], 2, 1e-15);
  EXPECT_NEAR(out[1], -1, 1e-15);
  EXPECT_NEAR(lse[0], std::log(4), 1e-15);
}

TEST(AttentionSinks, OfAQueryThatSeesNothingTakeAll) {
  const Attention a{1, 1, 1, 1, 1, 1, 1};
  Values out{0}, lse{-std::numeric_limits<double>::infinity()};
  reference::attention_sinks_forward(a, Values{1.5}, out, lse);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(lse[0], 1.5);
}

TEST(AttentionSinks, LeaveAttentionItsOwnBackward) {
  const Values q = test::random_values(64, 1), k = test::random_values(32, 2), v = test::random_values(48, 3);
  const Values sinks = test::random_values(4, 4), dout = test::random_values(96, 5);
  const Attended run(q, k, v, sinks);
  Values dq(q.size()), dk(k.size()), dv(v.size()), dsinks(4);
  reference::attention_backward(kShape, q, k, v, run.out, run.lse, dout, dq, dk, dv);
  reference::attention_sinks_backward(kShape, sinks, run.out, run.lse, dout, dsinks);
  test::expect_gradient(q, dq, [&](const Values& x) { return test::dot(Attended(x, k, v, sinks).out, dout); });
  test::expect_gradient(k, dk, [&](const Values& x) { return test::dot(Attended(q, x, v, sinks).out, dout); });
  test::expect_gradient(v, dv, [&](const Values& x) { return test::dot(Attended(q, k, x, sinks).out, dout); });
  test::expect_gradient(sinks, dsinks, [&](const Values& x) { return test::dot(Attended(q, k, v, x).out, dout); });
}

TEST(AttentionSinks, AreThoseOfASoftmaxThatWritesItsProbabilities) {
  // Two heads of two queries on two keys, no mask; values 1, so that the output is the sum of the probabilities.
  const Values scores = test::random_values(8, 1), sinks = test::random_values(2, 2);
  const kernels::Softmax s{.matrices = 2, .queries = 2, .keys = 2, .heads = 2};
  const Attention a{.batch = 1, .queries = 2, .keys = 2, .heads = 2, .kv_heads = 2, .head_dim = 1, .value_dim = 1};
  Values p(8), with(8), lse(4), lse_with(4);
  reference::softmax_forward(s, scores, {}, {}, p, lse);
  reference::softmax_forward(s, scores, sinks, {}, with, lse_with);
  Values out(4, 1);  // [query, head]
  reference::attention_sinks_forward(a, sinks, out, lse);
  for (int head = 0; head < 2; ++head) {
    for (int query = 0; query < 2; ++query) {
      const int row = head * 2 + query;
      EXPECT_NEAR(lse[row], lse_with[row], 1e-14);
      EXPECT_NEAR(out[query * 2 + head], with[2 * row] + with[2 * row + 1], 1e-14);
      EXPECT_NEAR(p[2 * row] * out[query * 2 + head], with[2 * row], 1e-14);
    }
  }
}

}  // namespace
