// tests/gpu/vendor/batched_matmul_test.cpp -- cuBLASLt's batched matmul against the CPU reference.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/batched_matmul.h"

#include "tests/gpu/device_array.h"

namespace {

using kernels::BatchedMatmul;
using kernels::Element;
using kernels::vendor::Number;
using test::Array;
using test::Values;

void expect_agrees(const BatchedMatmul& shape, std::size_t size) {
  kernels::vendor::BatchedMatmulLibrary library;
  for (const Number number : {Number::bf16, Number::f32}) {
    const Element element = number == Number::bf16 ? Element::bf16 : Element::f32;
    const Values a = test::random_elements(element, size, 1), b = test::random_elements(element, size, 2);
    Values c = test::random_elements(element, size, 3);
    const Array d_a(element, a), d_b(element, b), d_c(element, c);
    kernels::reference::batched_matmul(shape, a, b, c);
    library.run(shape, number, d_a.data(), d_b.data(), d_c.data(), nullptr);
    test::expect_close(d_c.values(), c, 4e-3, "c");
  }
}

/// Scores of 4 heads of 64 in packed rows of 3 x 256, and the gradient of their keys, which is added to.
TEST(BatchedMatmulOnGpu, HeadsInPackedRowsAgree) {
  expect_agrees({{32, 32, 64, false, true, 0.125}, 4, {768, 64}, {768, 64}, {32, 1024}}, 32 * 768);
  expect_agrees({{32, 64, 32, true, false, 1, 1}, 4, {32, 1024}, {768, 64}, {768, 64}}, 32 * 768);
}

/// Rows of 3 x 20 numbers do not begin at multiples of 16 bytes.
TEST(BatchedMatmulOnGpu, NarrowHeadsAgree) {
  expect_agrees({{16, 16, 10, false, true}, 2, {60, 10}, {60, 10}, {16, 256}}, 16 * 60);
}

}  // namespace
