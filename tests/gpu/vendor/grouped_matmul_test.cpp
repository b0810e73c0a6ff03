// tests/gpu/vendor/grouped_matmul_test.cpp -- cuBLAS's grouped matmul, and one matmul an expert, against the reference.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/grouped_matmul.h"

#include "tests/gpu/device_array.h"

namespace {

using kernels::Element;
using kernels::GroupedMatmul;
using kernels::vendor::GroupedMatmulLibrary;
using kernels::vendor::MatmulLibrary;
using kernels::vendor::Number;
using test::Array;
using test::Device;
using test::Values;
using GroupedPass = GroupedMatmul::Pass;

constexpr std::int64_t kIn = 96, kOut = 64;
const std::vector<std::int64_t> kRows{40, 0, 8, 160};

std::size_t elements_a(GroupedPass pass) { return 208 * (pass == GroupedPass::forward ? kIn : kOut); }
std::size_t elements_b(GroupedPass pass) { return pass == GroupedPass::weight_gradient ? 208 * kIn : 4 * kOut * kIn; }
std::size_t elements_c(GroupedPass pass) {
  if (pass == GroupedPass::weight_gradient) return 4 * kOut * kIn;
  return 208 * (pass == GroupedPass::forward ? kOut : kIn);
}

TEST(GroupedMatmulOnGpu, EveryPassAgreesByOneKernelAndOneByOne) {
  MatmulLibrary single;
  GroupedMatmulLibrary library;
  const Device<char> workspace(GroupedMatmulLibrary::kWorkspace);
  for (const GroupedPass pass : {GroupedPass::forward, GroupedPass::input_gradient, GroupedPass::weight_gradient}) {
    const GroupedMatmul shape{pass, kIn, kOut, kRows};
    const Values a = test::random_elements(Element::bf16, elements_a(pass), 1),
                 b = test::random_elements(Element::bf16, elements_b(pass), 2);
    Values expected(elements_c(pass));
    kernels::reference::grouped_matmul(shape, a, b, expected);
    const Array d_a(Element::bf16, a), d_b(Element::bf16, b);
    const auto experts = kernels::of_experts(shape);
    for (const bool one_kernel : {true, false}) {
      const Array d_c(Element::bf16, expected.size());  // NaN must not be read
      kernels::vendor::clear_empty(experts, {}, d_c.data(), nullptr);
      if (one_kernel) {
        const auto groups = kernels::vendor::groups_of(experts, {}, d_a.data(), d_b.data(), d_c.data());
        const Device<const void*> addresses(groups.addresses);
        ASSERT_EQ(library.run(groups, {}, addresses.data(), workspace.data(), nullptr), "");
      } else {
        kernels::vendor::run_one_by_one(experts, {}, d_a.data(), d_b.data(), d_c.data(), single, nullptr);
      }
      test::expect_close(d_c.values(), expected, 4e-3, one_kernel ? "grouped" : "one by one");
    }
  }
}

TEST(GroupedMatmulOnGpu, WeightGradientsAreAddedInFp32OneByOne) {
  MatmulLibrary single;
  const GroupedMatmul shape{GroupedPass::weight_gradient, kIn, kOut, kRows, true};
  const Values a = test::random_elements(Element::bf16, elements_a(shape.pass), 1),
               b = test::random_elements(Element::bf16, elements_b(shape.pass), 2);
  Values expected = test::random_elements(Element::f32, elements_c(shape.pass), 3);
  const Array d_a(Element::bf16, a), d_b(Element::bf16, b), d_c(Element::f32, expected);
  kernels::reference::grouped_matmul(shape, a, b, expected);
  kernels::vendor::run_one_by_one(kernels::of_experts(shape), {.c = Number::f32}, d_a.data(), d_b.data(), d_c.data(),
                                  single, nullptr);
  test::expect_close(d_c.values(), expected, 1e-5, "weight gradients");
}

}  // namespace
