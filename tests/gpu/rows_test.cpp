// tests/gpu/rows_test.cpp -- biases and scaling by a factor on the device, against their CPU references.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows.h"
#include "kernels/gradient_norm.h"
#include "tests/gpu/device_array.h"

namespace {

using kernels::Element;
using test::Array;
using test::Values;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

class Rows : public test::Kernel {};

TEST_P(Rows, ABiasIsAddedToEachRow) {
  const std::int64_t rows = 37;
  const Values bias = test::random_elements(element(), width(), 1);
  Values y = test::random_elements(element(), rows * width(), 2);
  const Array d_bias(element(), bias), d_y(element(), y);
  reference::add_rows(bias, y);
  gpu::add_rows(rows, width(), element(), d_bias.data(), d_y.data(), nullptr);
  test::expect_close(d_y.values(), y, close(), "y");
}

TEST_P(Rows, ItsGradientIsAddedToWhatIsThere) {
  const std::int64_t rows = 150;  // more than a block sums
  const Values dy = test::random_elements(element(), rows * width(), 1);
  Values dbias = test::random_elements(Element::f32, width(), 2);
  const Array d_dy(element(), dy), d_dbias(Element::f32, dbias);
  reference::sum_rows(dy, dbias);
  gpu::sum_rows(rows, width(), element(), d_dy.data(), d_dbias.floats(), nullptr);
  test::expect_close(d_dbias.values(), dbias, 1e-4, "dbias");
}

TEST_P(Rows, AFactorOnTheDeviceScales) {
  Values x = test::random_elements(Element::f32, width(), 1);
  const Array d_x(Element::f32, x), factor(Element::f32, Values{0.25});
  reference::scale_by(0.25, x);
  gpu::scale_by(factor.floats(), width(), d_x.floats(), nullptr);
  test::expect_close(d_x.values(), x, 1e-6, "x");
}

INSTANTIATE_TEST_SUITE_P(Gpu, Rows, test::kCases, test::case_name);

}  // namespace
