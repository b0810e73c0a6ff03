// tests/kernels/softmax_test.cpp -- kernels/softmax.h and kernels/batched_matmul.h, and that both together are the
// attention of kernels/attention.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax.h"

#include "kernels/attention.h"
#include "kernels/batched_matmul.h"
#include "kernels/strided_copy.h"
#include "tests/kernels/gradients.h"

namespace {

using kernels::Attention;
using kernels::BatchedMatmul;
using kernels::Softmax;
using test::Values;
namespace reference = kernels::reference;

TEST(SoftmaxKernel, ACausalRowSharesOutAmongThePast) {
  // Scores log 1, log 3: alone 1; together 1/4 and 3/4.
  const Values scores{0, 99, 0, std::log(3)};
  Values p(4);
  reference::softmax_forward({.matrices = 1, .queries = 2, .keys = 2, .causal = true}, scores, {}, {}, p, {});
  EXPECT_EQ(p[0], 1);
  EXPECT_EQ(p[1], 0);
  EXPECT_NEAR(p[2], 0.25, 1e-15);
  EXPECT_NEAR(p[3], 0.75, 1e-15);
}

TEST(SoftmaxKernel, WindowsAndChunksLimitWhatIsSeen) {
  // Of 4 equal scores the last query sees 2 through a window of 2; the third, in chunks of 2, itself alone.
  Values p(16);
  reference::softmax_forward({.matrices = 1, .queries = 4, .keys = 4, .causal = true, .window = 2}, Values(16, 1), {},
                             {}, p, {});
  EXPECT_EQ(Values(p.end() - 4, p.end()), (Values{0, 0, 0.5, 0.5}));
  reference::softmax_forward({.matrices = 1, .queries = 4, .keys = 4, .causal = true, .chunk = 2}, Values(16, 1), {},
                             {}, p, {});
  EXPECT_EQ(Values(p.begin() + 8, p.begin() + 12), (Values{0, 0, 1, 0}));
}

TEST(SoftmaxKernel, ATokenSeesNoOtherDocument) {
  // Two sequences of one head; documents of 1 and 3 tokens, then of 2 and 2. All scores are equal.
  const std::vector<std::int32_t> begins{0, 1, 1, 1, 0, 0, 2, 2};
  Values p(32);
  reference::softmax_forward({.matrices = 2, .queries = 4, .keys = 4, .causal = true}, Values(32, 1), {}, begins, p,
                             {});
  EXPECT_EQ(Values(p.begin() + 12, p.begin() + 16), (Values{0, 1.0 / 3, 1.0 / 3, 1.0 / 3}));
  EXPECT_EQ(Values(p.begin() + 24, p.begin() + 28), (Values{0, 0, 1, 0}));
  reference::softmax_forward({.matrices = 2, .queries = 4, .keys = 4}, Values(32, 1), {}, begins, p, {});
  EXPECT_EQ(Values(p.begin() + 16, p.begin() + 20), (Values{0.5, 0.5, 0, 0}));
}

TEST(SoftmaxKernel, ItsBackwardIsTheGradient) {
  const Softmax s{.matrices = 2, .queries = 3, .keys = 3, .causal = true, .window = 2};
  const Values scores = test::random_values(18, 1), dp = test::random_values(18, 2);
  Values p(18), ds(18);
  reference::softmax_forward(s, scores, {}, {}, p, {});
  reference::softmax_backward(s, p, dp, ds);
  test::expect_gradient(scores, ds, [&](const Values& x) {
    reference::softmax_forward(s, x, {}, {}, p, {});
    return test::dot(p, dp);
  });
}

TEST(BatchedMatmulKernel, ReadsMembersWhereTheyArePacked) {
  // Rows of 3 numbers: A's two members are columns 0 and 1 of [2, 3], B's shared one is column 2. C adds to 100.
  const Values packed{1, 2, 10, 3, 4, 20};
  const BatchedMatmul m{{1, 1, 2, true, false, 1, 1}, 2, {3, 1}, {3, 0}, {1, 1}};
  Values c(2, 100);
  reference::batched_matmul(m, packed, std::span(packed).subspan(2), c);
  EXPECT_EQ(c, (Values{100 + 1 * 10 + 3 * 20, 100 + 2 * 10 + 4 * 20}));
}

TEST(BatchedMatmulKernel, AroundASoftmaxIsAttention) {
  // 2 heads of 4 over 5 tokens, each with keys of its own; then with linear biases, as the second and third of three.
  const Values q = test::random_values(40, 1), k = test::random_values(40, 2), v = test::random_values(40, 3);
  for (const kernels::Alibi alibi : {kernels::Alibi{}, kernels::Alibi{3, 1}}) {
    Attention a{1, 5, 5, 2, 2, 4, 4, 0.5, true};
    a.alibi = alibi;
    Values expected(40), lse(10), scores(50), p(50), by_heads(40), out(40);
    reference::attention_forward(a, q, k, v, expected, lse);
    reference::batched_matmul({{5, 5, 4, false, true, 0.5}, 2, {8, 4}, {8, 4}, {5, 25}}, q, k, scores);
    const Softmax mask{.matrices = 2, .queries = 5, .keys = 5, .causal = true, .heads = 2, .alibi = alibi};
    reference::softmax_forward(mask, scores, {}, {}, p, {});
    reference::batched_matmul({{5, 4, 5}, 2, {5, 25}, {8, 4}, {4, 20}}, p, v, by_heads);
    reference::strided_copy(kernels::head_transpose(1, 2, 5, 4), by_heads, out);
    EXPECT_LT(test::distance(out, expected), 1e-14);
  }
}

}  // namespace
