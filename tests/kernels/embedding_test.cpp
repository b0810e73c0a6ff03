// tests/kernels/embedding_test.cpp -- kernels/embedding.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding.h"

#include "tests/kernels/gradients.h"

namespace {

using test::Values;

const std::vector<std::int32_t> kIds{3, 0, 3, 5};

Values rows_of(const kernels::Embedding& shape, std::span<const double> table) {
  Values y(shape.tokens * shape.width, -1);
  kernels::reference::embedding_forward(shape, kIds, table, y);
  return y;
}

TEST(EmbeddingKernel, TwoHalvesOfTheVocabularyAddUpToTheWhole) {
  const Values table = test::random_values(6 * 2, 1);
  const std::span<const double> all(table);
  const Values whole = rows_of({4, 2, 6, 0}, all);
  const Values low = rows_of({4, 2, 3, 0}, all.first(6)), high = rows_of({4, 2, 3, 3}, all.last(6));
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(low[i] + high[i], whole[i]);
  EXPECT_EQ(whole[0], table[6]);  // token 3
}

TEST(EmbeddingKernel, BackwardIsTheGradientAndAdds) {
  for (const kernels::Embedding& shape : {kernels::Embedding{4, 2, 6, 0}, kernels::Embedding{4, 2, 2, 2}}) {
    const Values table = test::random_values(shape.vocabulary * 2, 1), dy = test::random_values(8, 2);
    Values dtable(table.size(), 1.0);
    kernels::reference::embedding_backward(shape, kIds, dy, dtable);
    for (double& value : dtable) value -= 1;
    test::expect_gradient(table, dtable, [&](const Values& t) { return test::dot(rows_of(shape, t), dy); });
  }
}

}  // namespace
