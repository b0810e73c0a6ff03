// tests/gpu/optimizer_test.cpp -- optimizers, the gradient norm, conversions and copies of the GPU against their CPU
// references. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/adamw.h"
#include "kernels/adamw8bit.h"
#include "kernels/convert.h"
#include "kernels/copy_on_sms.h"
#include "kernels/dynamic_code.h"
#include "kernels/gradient_norm.h"
#include "kernels/sgd.h"
#include "kernels/strided_copy.h"
#include "tests/gpu/device_array.h"

namespace {

using kernels::Element;
using test::Array;
using test::Device;
using test::Values;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

class FlatKernel : public test::Kernel {};

/// Where an array's elements from `at` on lie.
void* part(const Array& all, std::int64_t at) {
  return static_cast<char*>(all.data()) + at * (all.element() == Element::f32 ? 4 : 2);
}

TEST_P(FlatKernel, AdamWAgreesOverManyTensorsOfDifferentLength) {
  for (const Element moments : {Element::f32, Element::bf16}) {
    // 80 tensors, more than a launch takes; beside each other in memory, so that few begin at a multiple of 16 bytes.
    constexpr int kTensors = 80;
    const std::int64_t each = width(), count = kTensors * each;
    const kernels::AdamW shape{1e-2, 0.9, 0.95, 1e-8, 0.1, 7};
    const Values gradient = test::random_elements(Element::f32, count, 1);
    Values master = test::random_elements(Element::f32, count, 2), m = test::random_elements(moments, count, 3);
    Values v = test::random_elements(moments, count, 4);
    for (double& value : v) value = std::fabs(value);
    const Array d_gradient(Element::f32, gradient), d_master(Element::f32, master), d_m(moments, m), d_v(moments, v);
    const Array d_parameter(element(), count), d_factor(Element::f32, Values{0.5});
    std::vector<kernels::gpu::AdamWTensor> tensors;
    for (std::int64_t at = 0; at < count; at += each) {
      tensors.push_back({d_gradient.floats() + at, d_master.floats() + at, part(d_m, at), part(d_v, at),
                         part(d_parameter, at), each});
    }
    reference::adamw(shape, 0.5, gradient, master, m, v);
    gpu::adamw(shape, element(), moments, tensors, d_factor.floats(), nullptr);
    test::expect_close(d_master.values(), master, 1e-5, "master");
    test::expect_close(d_m.values(), m, test::tolerance(moments), "m");
    test::expect_close(d_v.values(), v, test::tolerance(moments), "v");
    test::expect_close(d_parameter.values(), master, close(), "parameter");
  }
}

TEST_P(FlatKernel, SgdAgreesOverManyTensorsOfDifferentLength) {
  for (const Element moments : {Element::f32, Element::bf16}) {
    constexpr int kTensors = 80;
    const std::int64_t each = width(), count = kTensors * each;
    const kernels::Sgd shape{1e-2, 0.9, 0.1};
    const Values gradient = test::random_elements(Element::f32, count, 1);
    Values master = test::random_elements(Element::f32, count, 2), m = test::random_elements(moments, count, 3);
    const Array d_gradient(Element::f32, gradient), d_master(Element::f32, master), d_m(moments, m);
    const Array d_parameter(element(), count), d_factor(Element::f32, Values{0.5});
    std::vector<kernels::gpu::SgdTensor> tensors;
    for (std::int64_t at = 0; at < count; at += each) {
      tensors.push_back({d_gradient.floats() + at, d_master.floats() + at, part(d_m, at), part(d_parameter, at), each});
    }
    reference::sgd(shape, 0.5, gradient, master, m);
    gpu::sgd(shape, element(), moments, tensors, d_factor.floats(), nullptr);
    test::expect_close(d_master.values(), master, 1e-5, "master");
    test::expect_close(d_m.values(), m, test::tolerance(moments), "m");
    test::expect_close(d_parameter.values(), master, close(), "parameter");
  }
}

Values values_of(kernels::DynamicCode kind, const std::vector<std::uint8_t>& codes) {
  Values out;
  for (const std::uint8_t code : codes) out.push_back(kernels::dynamic_value<double>(kind, code));
  return out;
}

TEST_P(FlatKernel, AdamWWithMomentsOf8BitsAgreesOverManyTensorsAndSteps) {
  // In each step the reference begins with what the GPU has left: a moment half way between two codes may be rounded
  // to either.
  constexpr int kTensors = 50;
  const std::int64_t each = width(), blocks = kernels::moment_blocks(each), count = kTensors * each;
  const Array d_master(Element::f32, test::random_elements(Element::f32, count, 2));
  const Array d_parameter(element(), count), d_factor(Element::f32, Values{0.5});
  const std::vector<std::uint8_t> zeros(count);
  const Device<std::uint8_t> m(zeros), v(zeros);
  const Array m_scales(Element::f32, Values(kTensors * blocks)), v_scales(Element::f32, Values(kTensors * blocks));
  for (int step = 1; step <= 3; ++step) {
    const kernels::AdamW shape{1e-2, 0.9, 0.95, 1e-8, 0.1, step};
    const Values gradient = test::random_elements(Element::f32, count, 10 + step);
    const Array d_gradient(Element::f32, gradient);
    Values master = d_master.values();
    Values new_m = values_of(kernels::DynamicCode::with_sign, m.values()), new_m_scales = m_scales.values();
    Values new_v = values_of(kernels::DynamicCode::without_sign, v.values()), new_v_scales = v_scales.values();
    std::vector<kernels::gpu::AdamW8bitTensor> tensors;
    for (int i = 0; i < kTensors; ++i) {
      const std::int64_t at = i * each, scale = i * blocks;
      const auto of = [](Values& all, std::int64_t from, std::int64_t length) {
        return std::span<double>(all).subspan(from, length);
      };
      tensors.push_back({d_gradient.floats() + at, d_master.floats() + at, m.data() + at, m_scales.floats() + scale,
                         v.data() + at, v_scales.floats() + scale, part(d_parameter, at), each});
      reference::adamw8bit(shape, 0.5, std::span<const double>(gradient).subspan(at, each), of(master, at, each),
                           of(new_m, at, each), of(new_m_scales, scale, blocks), of(new_v, at, each),
                           of(new_v_scales, scale, blocks));
    }
    gpu::adamw8bit(shape, element(), tensors, d_factor.floats(), nullptr);
    test::expect_close(d_master.values(), master, 1e-5, "master");
    test::expect_close(d_parameter.values(), master, close(), "parameter");
    test::expect_close(m_scales.values(), new_m_scales, 1e-5, "scales of m");
    test::expect_close(v_scales.values(), new_v_scales, 1e-5, "scales of v");
    const auto expect_neighbours = [&](kernels::DynamicCode kind, const std::vector<std::uint8_t>& got,
                                       const Values& expected) {
      const auto order = [&](int code) {
        return kind == kernels::DynamicCode::with_sign && code > 128 ? code - 256 : code;
      };
      const auto magnitude = [&](int index) { return kernels::dynamic_magnitude<double>(kind, index); };
      std::int64_t differ = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const int apart = std::abs(order(got[i]) - order(kernels::dynamic_code(kind, expected[i], magnitude)));
        ASSERT_LE(apart, 1) << i;
        differ += apart;
      }
      EXPECT_LT(differ, 2 + count / 1000);
    };
    expect_neighbours(kernels::DynamicCode::with_sign, m.values(), new_m);
    expect_neighbours(kernels::DynamicCode::without_sign, v.values(), new_v);
  }
}

TEST_P(FlatKernel, ClipFactorAgreesAndStaysOnTheDevice) {
  const Values x = test::random_elements(Element::f32, 1000 * width() + 1, 1);
  const double squared = reference::squared_norm(x);
  const Array d_x(Element::f32, x), factor(Element::f32, 1), norm(Element::f32, 1);
  const Device<double> total(std::vector<double>{0});
  gpu::squared_norm(static_cast<std::int64_t>(x.size()), d_x.floats(), total.data(), nullptr);
  gpu::clip_factor(total.data(), 3, factor.floats(), norm.floats(), nullptr);
  EXPECT_NEAR(total.values()[0] / squared, 1, 1e-6);
  EXPECT_NEAR(factor.values()[0], reference::clip_factor(squared, 3), 1e-6);
  EXPECT_NEAR(norm.values()[0] / std::sqrt(squared), 1, 1e-6);
}

/// In packs of four and, where the count is none of them, one by one; a grid of three blocks has more rounds than one.
TEST_P(FlatKernel, ScaleByAgrees) {
  for (std::int64_t count : {1000 * width(), 1000 * width() + 3}) {
    const Values x = test::random_elements(Element::f32, count, 1);
    Values y;
    for (double value : x) y.push_back(0.25 * value);  // exact
    const Array d_x(Element::f32, x), factor(Element::f32, Values{0.25});
    gpu::scale_by(factor.floats(), count, d_x.floats(), nullptr);
    EXPECT_EQ(d_x.values(), y);
  }
}

TEST(TotalsOnGpu, AreAddedInDouble) {
  const Device<double> part(std::vector<double>{1e-12}), total(std::vector<double>{1});
  gpu::add_total(part.data(), total.data(), nullptr);
  EXPECT_EQ(total.values()[0], 1 + 1e-12);
}

TEST_P(FlatKernel, SumAgreesApartAndInPlace) {
  for (std::int64_t count : {3 * width(), 4096 * width() + 1}) {
    const Values x = random(count, 1), y = random(count, 2);
    Values expected(count);
    reference::sum(x, y, expected);
    const Array d_x(element(), x), d_y(element(), y), to(element(), count);
    gpu::sum(count, element(), d_x.data(), d_y.data(), to.data(), nullptr);
    gpu::sum(count, element(), d_x.data(), d_y.data(), d_x.data(), nullptr);
    test::expect_close(to.values(), expected, close(), "sum");
    EXPECT_EQ(d_x.values(), to.values());
  }
}

TEST_P(FlatKernel, ScaleAddAgreesBetweenTypes) {
  const auto count = 3 * width();
  for (Element to : {Element::f32, Element::bf16}) {
    for (double beta : {0.0, 1.0}) {
      const Values x = random(count, 1);
      Values y = test::random_elements(to, count, 2);
      const Array d_x(element(), x), d_y = beta == 0 ? Array(to, count) : Array(to, y);  // NaN must not be read
      reference::scale_add(0.75, x, beta, y);
      gpu::scale_add(count, 0.75, element(), d_x.data(), beta, to, d_y.data(), nullptr);
      test::expect_close(d_y.values(), y, test::tolerance(to), "y");
    }
  }
}

TEST_P(FlatKernel, StridedCopyIsExact) {
  const kernels::StridedCopy shape = kernels::head_transpose(2, 5, 3, width());
  const Values x = random(30 * width(), 1);
  Values y(x.size());
  reference::strided_copy(shape, x, y);
  const Array d_x(element(), x), d_y(element(), x.size());
  gpu::strided_copy(shape, element(), d_x.data(), d_y.data(), nullptr);
  EXPECT_EQ(d_y.values(), y);
}

INSTANTIATE_TEST_SUITE_P(Gpu, FlatKernel, test::kCases, test::case_name);

TEST(CopyOnSms, CopiesEverythingWhateverTheNumberOfBlocks) {
  std::vector<std::int32_t> words(4 * 12345);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::int32_t>(i);
  const Device<std::int32_t> from(words);
  for (int sms : {1, 3, 16}) {
    const Device<std::int32_t> to(words.size());
    gpu::copy_on_sms(sms, from.data(), to.data(), words.size() * 4, 2, nullptr);
    EXPECT_EQ(to.values(), words);
  }
}

}  // namespace
