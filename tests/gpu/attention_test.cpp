// tests/gpu/attention_test.cpp -- the plain attention of the GPU against its CPU reference.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include <limits>

#include "kernels/attention_sinks.h"
#include "tests/gpu/device_array.h"

namespace {

using kernels::Attention;
using kernels::Element;
using test::Array;
using test::Values;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

const Attention kShapes[] = {
    {2, 17, 33, 4, 4, 64, 64, 0.125},
    {1, 40, 40, 8, 2, 128, 128, 0.088, true},
    {1, 30, 50, 4, 2, 192, 128, 0.072, true, 20},  // latent attention's widths, a later part of a sequence
    {1, 40, 40, 2, 1, 24, 40, 0.2, true, 0, 9},
    {1, 20, 30, 2, 2, 64, 64, 0.125, true, -5},                                     // five queries see nothing
    {2, 20, 20, 4, 2, 64, 64, 0.125, true, 0, 0, {0.25, 7, 123}, {1600, 400, 20}},  // dropout
    {1, 20, 30, 3, 3, 64, 64, 0.125, true, 10, 0, {}, {}, {6, 2}},                  // linear biases
};

class AttentionOnGpu : public testing::TestWithParam<std::tuple<Attention, Element>> {
 protected:
  Attention a_ = std::get<0>(GetParam());
  Element element_ = std::get<1>(GetParam());
  std::int64_t queries_ = a_.batch * a_.queries * a_.heads, keys_ = a_.batch * a_.keys * a_.kv_heads;
  Values q_ = values(queries_ * a_.head_dim, 1), k_ = values(keys_ * a_.head_dim, 2),
         v_ = values(keys_ * a_.value_dim, 3);
  Values dout_ = values(queries_ * a_.value_dim, 4);
  Array d_q_{element_, q_}, d_k_{element_, k_}, d_v_{element_, v_}, d_dout_{element_, dout_};
  Values out_ = Values(queries_ * a_.value_dim), lse_ = Values(queries_);

  Values values(std::size_t count, unsigned seed) const { return test::random_elements(element_, count, seed); }
  double within(double bf16) const { return element_ == Element::bf16 ? bf16 : 2e-5; }
  static void expect_lse(const Values& got, const Values& expected) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::isfinite(expected[i])) {
        EXPECT_NEAR(got[i], expected[i], 1e-4);
      } else {
        EXPECT_EQ(got[i], expected[i]);
      }
    }
  }
};

TEST_P(AttentionOnGpu, ForwardAgrees) {
  reference::attention_forward(a_, q_, k_, v_, out_, lse_);
  const Array out(element_, out_.size()), lse(Element::f32, lse_.size());
  gpu::attention_forward(a_, element_, d_q_.data(), d_k_.data(), d_v_.data(), out.data(), lse.floats(), nullptr);
  test::expect_close(out.values(), out_, within(1e-2), "out");
  expect_lse(lse.values(), lse_);
}

TEST_P(AttentionOnGpu, BackwardAgrees) {
  reference::attention_forward(a_, q_, k_, v_, out_, lse_);
  Values dq(q_.size()), dk(k_.size()), dv(v_.size());
  reference::attention_backward(a_, q_, k_, v_, out_, lse_, dout_, dq, dk, dv);
  const Array out(element_, out_), lse(Element::f32, lse_);
  const Array d_dq(element_, dq.size()), d_dk(element_, dk.size()), d_dv(element_, dv.size());
  gpu::attention_backward(a_, element_, d_q_.data(), d_k_.data(), d_v_.data(), out.data(), lse.floats(), d_dout_.data(),
                          d_dq.data(), d_dk.data(), d_dv.data(), nullptr);
  test::expect_close(d_dq.values(), dq, within(2e-2), "dq");
  test::expect_close(d_dk.values(), dk, within(2e-2), "dk");
  test::expect_close(d_dv.values(), dv, within(2e-2), "dv");
}

TEST_P(AttentionOnGpu, MergeAgrees) {
  const Values other = values(out_.size(), 5), other_lse = test::random_elements(Element::f32, lse_.size(), 6);
  reference::attention_forward(a_, q_, k_, v_, out_, lse_);
  const Array out(element_, out_), lse(Element::f32, lse_), d_other(element_, other),
      d_other_lse(Element::f32, other_lse);
  reference::attention_merge(a_, other, other_lse, out_, lse_);
  gpu::attention_merge(a_, element_, d_other.data(), d_other_lse.floats(), out.data(), lse.floats(), nullptr);
  test::expect_close(out.values(), out_, within(1e-2), "out");
  expect_lse(lse.values(), lse_);
}

TEST_P(AttentionOnGpu, SinksAgree) {
  const Values sinks = values(a_.heads, 5);
  reference::attention_forward(a_, q_, k_, v_, out_, lse_);
  const Array out(element_, out_), lse(Element::f32, lse_), d_sinks(element_, sinks);
  reference::attention_sinks_forward(a_, sinks, out_, lse_);
  gpu::attention_sinks_forward(a_, element_, d_sinks.data(), out.data(), lse.floats(), nullptr);
  test::expect_close(out.values(), out_, within(1e-2), "out");
  expect_lse(lse.values(), lse_);
  Values dsinks(sinks.size(), 0.5);
  const Array d_dsinks(Element::f32, dsinks);
  reference::attention_sinks_backward(a_, sinks, out.values(), lse.values(), dout_, dsinks);
  gpu::attention_sinks_backward(a_, element_, d_sinks.data(), out.data(), lse.floats(), d_dout_.data(),
                                d_dsinks.floats(), nullptr);
  test::expect_close(d_dsinks.values(), dsinks, 1e-4, "dsinks");
}

/// A document of fewer tokens than a ring has ranks leaves some of them no keys.
TEST_P(AttentionOnGpu, OfNoKeysIsZeroAndNoSum) {
  a_.keys = 0;
  const Array out(element_, out_.size()), lse(Element::f32, lse_.size());
  gpu::attention_forward(a_, element_, d_q_.data(), nullptr, nullptr, out.data(), lse.floats(), nullptr);
  EXPECT_EQ(out.values(), Values(out_.size(), 0));
  EXPECT_EQ(lse.values(), Values(lse_.size(), -std::numeric_limits<double>::infinity()));
  const Array dq(element_, q_.size());
  gpu::attention_backward(a_, element_, d_q_.data(), nullptr, nullptr, out.data(), lse.floats(), d_dout_.data(),
                          dq.data(), nullptr, nullptr, nullptr);
  EXPECT_EQ(dq.values(), Values(q_.size(), 0));
}

INSTANTIATE_TEST_SUITE_P(Gpu, AttentionOnGpu,
                         testing::Combine(testing::ValuesIn(kShapes), testing::Values(Element::f32, Element::bf16)));

}  // namespace
