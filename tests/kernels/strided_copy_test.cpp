// tests/kernels/strided_copy_test.cpp -- kernels/strided_copy.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/strided_copy.h"

#include "tests/kernels/gradients.h"

namespace {

using test::Values;

TEST(StridedCopyKernel, ATransposeOfHeadsIsUndoneByTheOtherOne) {
  const Values x = test::random_values(2 * 3 * 4 * 5, 1);
  Values turned(x.size()), back(x.size());
  kernels::reference::strided_copy(kernels::head_transpose(2, 3, 4, 5), x, turned);
  // batch 1, token 2, head 3, element 4 lies at ((1 3 + 2) 4 + 3) 5 + 4, then at ((1 4 + 3) 3 + 2) 5 + 4.
  EXPECT_EQ(turned[119 - 0], x[119]);
  EXPECT_EQ(turned[((0 * 4 + 3) * 3 + 1) * 5 + 2], x[((0 * 3 + 1) * 4 + 3) * 5 + 2]);
  kernels::reference::strided_copy(kernels::head_transpose(2, 4, 3, 5), turned, back);
  EXPECT_EQ(back, x);
}

TEST(StridedCopyKernel, TakesARanksColumnsAndPutsThemBack) {
  const Values x{0, 1, 2, 3, 4, 5};  // 2 rows of 3: the last two columns
  Values part(4), back(6, -1);
  kernels::reference::strided_copy(kernels::row_pieces(2, 2, 3, 2), std::span(x).subspan(1), part);
  EXPECT_EQ(part, (Values{1, 2, 4, 5}));
  kernels::reference::strided_copy(kernels::row_pieces(2, 2, 2, 3), part, std::span(back).subspan(1));
  EXPECT_EQ(back, (Values{-1, 1, 2, -1, 4, 5}));
}

}  // namespace
