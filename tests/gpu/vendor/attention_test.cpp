// tests/gpu/vendor/attention_test.cpp -- cuDNN's attention against the CPU reference.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/attention.h"

#include "tests/gpu/device_array.h"

namespace {

using kernels::Attention;
using kernels::Element;
using kernels::vendor::Pass;
using test::Array;
using test::Device;
using test::Values;

const Attention kShapes[] = {
    {2, 128, 128, 4, 4, 64, 64, 0.125, true},
    {1, 256, 256, 8, 2, 128, 128, 0.088, true},
    {2, 128, 192, 4, 1, 128, 128, 0.088, false},
    {1, 128, 128, 4, 4, 192, 128, 0.072, true},
};

class CudnnAttention : public testing::TestWithParam<Attention> {};

TEST_P(CudnnAttention, AgreesForwardAndBackward) {
  const Attention a = GetParam();
  int major = 0;
  test::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (a.head_dim > 128 && major < 9) GTEST_SKIP() << "cuDNN has no backward for such heads on this GPU";
  const std::int64_t queries = a.batch * a.queries * a.heads, keys = a.batch * a.keys * a.kv_heads;
  const auto random = [](std::int64_t count, unsigned seed) {
    return test::random_elements(Element::bf16, count, seed);
  };
  const Values q = random(queries * a.head_dim, 1), k = random(keys * a.head_dim, 2), v = random(keys * a.value_dim, 3);
  const Values dout = random(queries * a.value_dim, 4);
  Values out(queries * a.value_dim), lse(queries), dq(q.size()), dk(k.size()), dv(v.size());
  kernels::reference::attention_forward(a, q, k, v, out, lse);
  kernels::reference::attention_backward(a, q, k, v, out, lse, dout, dq, dk, dv);

  kernels::vendor::AttentionLibrary library;
  const Device<char> workspace(
      std::max(library.workspace_bytes(a, Pass::forward), library.workspace_bytes(a, Pass::backward)));
  const Array d_q(Element::bf16, q), d_k(Element::bf16, k), d_v(Element::bf16, v), d_dout(Element::bf16, dout);
  const Array d_out(Element::bf16, out.size()), d_lse(Element::f32, lse.size());
  const Array d_dq(Element::bf16, q.size()), d_dk(Element::bf16, k.size()), d_dv(Element::bf16, v.size());
  library.forward(a, d_q.data(), d_k.data(), d_v.data(), d_out.data(), d_lse.floats(), workspace.data(), nullptr);
  library.backward(a, d_q.data(), d_k.data(), d_v.data(), d_out.data(), d_lse.floats(), d_dout.data(), d_dq.data(),
                   d_dk.data(), d_dv.data(), workspace.data(), nullptr);
  test::expect_close(d_out.values(), out, 1e-2, "out");
  test::expect_close(d_lse.values(), lse, 1e-4, "lse");
  test::expect_close(d_dq.values(), dq, 2e-2, "dq");
  test::expect_close(d_dk.values(), dk, 2e-2, "dk");
  test::expect_close(d_dv.values(), dv, 2e-2, "dv");
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudnnAttention, testing::ValuesIn(kShapes));

}  // namespace
