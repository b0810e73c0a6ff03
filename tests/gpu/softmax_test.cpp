// tests/gpu/softmax_test.cpp -- the masked softmax on the device, against its CPU reference.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax.h"
#include "tests/gpu/device_array.h"

namespace {

using kernels::Element;
using kernels::Softmax;
using test::Array;
using test::Values;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

class MaskedSoftmax : public test::Kernel {
 protected:
  std::vector<Softmax> shapes() const {
    const std::int64_t n = std::min<std::int64_t>(width(), 600), few = std::min<std::int64_t>(n, 70);
    const std::int64_t more = 33 * width();  // keys than a block of threads keeps in registers
    return {{1, n, n},
            {1, n, n, true},
            {3, few, few},
            {2, few, few, true, 5},
            {2, few, few, true, 0, 7},
            {6, few, few, true, 0, 0, 3},
            {6, few, few, true, 0, 0, 3, {6, 3}},
            {2, few, few, false, 5, 0, 2},
            {2, few, few, false, 0, 7, 2},
            {2, 2, more, false, 0, 0, 2, {2, 0}}};
  }
};

/// Of each sequence documents of 3 tokens, the last one cut.
std::vector<std::int32_t> documents_of_three(const Softmax& s) {
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i < s.matrices / s.heads * s.queries; ++i) {
    out.push_back(static_cast<std::int32_t>(i % s.queries / 3 * 3));
  }
  return out;
}

TEST_P(MaskedSoftmax, ForwardAndBackwardAgree) {
  for (const Softmax& s : shapes()) {
    for (const bool packed : {false, true}) {
      if (packed && s.keys != s.queries) continue;
      const std::size_t count = s.matrices * s.queries * s.keys;
      const Values scores = test::random_elements(element(), count, 1), dp = test::random_elements(element(), count, 2);
      const Values sinks = s.heads > 1 ? test::random_elements(element(), s.heads, 3) : Values{};
      const std::vector<std::int32_t> begins = documents_of_three(s);
      Values p(count), ds(count), lse(s.matrices * s.queries);
      reference::softmax_forward(s, scores, sinks, packed ? kernels::Indices(begins) : kernels::Indices{}, p, lse);
      const Array d_scores(element(), scores), d_p(element(), count), d_dp(element(), dp), d_ds(element(), count);
      const Array d_sinks(element(), test::random_elements(element(), s.heads, 3)), d_lse(Element::f32, lse.size());
      const test::Device<std::int32_t> d_begins(begins);
      gpu::softmax_forward(s, element(), d_scores.data(), s.heads > 1 ? d_sinks.data() : nullptr,
                           packed ? d_begins.data() : nullptr, d_p.data(), d_lse.floats(), nullptr);
      test::expect_close(d_p.values(), p, close(), "probabilities");
      test::expect_close(d_lse.values(), lse, 1e-5, "lse");
      reference::softmax_backward(s, d_p.values(), dp, ds);
      gpu::softmax_backward(s, element(), d_p.data(), d_dp.data(), d_ds.data(), nullptr);
      test::expect_close(d_ds.values(), ds, close(), "dscores");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, MaskedSoftmax, test::kCases, test::case_name);

}  // namespace
