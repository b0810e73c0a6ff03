// tests/gpu/deviceless/groups_test.cpp -- what cuBLAS is told of the matmuls of experts, without a GPU.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/vendor/grouped_matmul.h"

namespace {

using kernels::GroupedMatmul;
using kernels::vendor::Groups;
using kernels::vendor::groups_of;
using kernels::vendor::Number;
using Ints = std::vector<int>;
using Pass = GroupedMatmul::Pass;

/// Experts of 5 inputs and 3 outputs on 2, 0 and 4 rows; addresses count bytes from 1000 (a), 2000 (b), 3000 (c).
Groups told(Pass pass, bool adds = false, Number result = Number::bf16) {
  const auto at = [](std::intptr_t byte) { return reinterpret_cast<void*>(byte); };
  return groups_of(kernels::of_experts({pass, 5, 3, {2, 0, 4}, adds}), {.c = result}, at(1000), at(2000), at(3000));
}

Ints addresses(const Groups& groups) {
  Ints out;
  for (const void* address : groups.addresses)
    out.push_back(static_cast<int>(reinterpret_cast<std::intptr_t>(address)));
  return out;
}

TEST(Groups, ForwardReadsWeightsTransposedAndSkipsTheExpertWithoutRows) {
  // Column-major C' [out, rows] = W x': W is stored [out, in], so it is transposed, and its columns are 5 numbers
  // apart.
  const Groups g = told(Pass::forward);
  EXPECT_EQ(g.transpose_first, (Ints{1, 1}));
  EXPECT_EQ(g.transpose_second, (Ints{0, 0}));
  EXPECT_EQ(g.m, (Ints{3, 3}));
  EXPECT_EQ(g.n, (Ints{2, 4}));
  EXPECT_EQ(g.k, (Ints{5, 5}));
  EXPECT_EQ(g.ld_first, (Ints{5, 5}));
  EXPECT_EQ(g.ld_second, (Ints{5, 5}));
  EXPECT_EQ(g.ld_c, (Ints{3, 3}));
  // Weights of expert 2 begin behind 2 x 15 numbers of 2 bytes; its rows behind 2 x 5; its results behind 2 x 3.
  EXPECT_EQ(addresses(g), (Ints{2000, 2060, 1000, 1020, 3000, 3012}));
}

TEST(Groups, AWeightGradientMultipliesAlongTheRows) {
  // dW' [in, out] = x' dy: both stored with the rows outside.
  const Groups g = told(Pass::weight_gradient, true);
  EXPECT_EQ(g.transpose_first, (Ints{0, 0}));
  EXPECT_EQ(g.transpose_second, (Ints{1, 1}));
  EXPECT_EQ(g.m, (Ints{5, 5}));
  EXPECT_EQ(g.n, (Ints{3, 3}));
  EXPECT_EQ(g.k, (Ints{2, 4}));
  EXPECT_EQ(g.ld_first, (Ints{5, 5}));
  EXPECT_EQ(g.ld_second, (Ints{3, 3}));
  EXPECT_EQ(g.beta, (std::vector<float>{1, 1}));
  EXPECT_EQ(addresses(g), (Ints{2000, 2020, 1000, 1012, 3000, 3060}));
}

TEST(Groups, AnExpertWithoutRowsIsClearedByOthersWhereNothingIsAddedTo) {
  EXPECT_EQ(kernels::of_experts({Pass::weight_gradient, 5, 3, {2, 0, 4}}).size(), 3u);
  EXPECT_EQ(told(Pass::weight_gradient).count(), 2);
}

TEST(Groups, ResultsInFp32AreTwiceAsFarApart) {
  EXPECT_EQ(addresses(told(Pass::weight_gradient, true, Number::f32)).back(), 3120);  // 30 numbers of 4 bytes
}

TEST(Groups, TypesThatCublasDoesNotTakeAreNamed) {
  EXPECT_EQ(kernels::vendor::refused_as_grouped({}), "");
  EXPECT_EQ(kernels::vendor::refused_as_grouped({.a = Number::f32, .b = Number::f32, .c = Number::f32}), "");
  EXPECT_EQ(kernels::vendor::refused_as_grouped({.c = Number::f32}), "bf16 operands and fp32 results");
  EXPECT_EQ(kernels::vendor::refused_as_grouped({.a = Number::e4m3, .b = Number::e4m3}), "operands in fp8");
}

}  // namespace
