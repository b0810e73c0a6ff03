// tests/gpu/loss_test.cpp -- cross entropy of the GPU, whole and in steps, against its CPU reference.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy.h"
#include "kernels/joined_loss.h"
#include "tests/gpu/device_array.h"

namespace {

using kernels::Element;
using test::Array;
using test::Device;
using test::Values;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

class LossKernel : public test::Kernel {
 protected:
  static constexpr std::int64_t kRows = 5;
  const std::vector<std::int32_t> targets_{0, -1, 36, 17, 20};
  Values logits_ = random(kRows * GetParam().width, 1, 4);
};

TEST_P(LossKernel, WholeAgrees) {
  const kernels::CrossEntropy shape{kRows, width(), 0, 0.25};
  Values gradient = logits_, loss(kRows);
  reference::cross_entropy(shape, targets_, gradient, loss);
  const Array d_logits(element(), logits_), d_loss(Element::f32, kRows);
  const Device<std::int32_t> d_targets(targets_);
  gpu::cross_entropy(shape, element(), d_targets.data(), d_logits.data(), d_loss.floats(), nullptr);
  test::expect_close(d_loss.values(), loss, 1e-5, "loss");
  test::expect_close(d_logits.values(), gradient, close(), "gradient");
}

TEST_P(LossKernel, StepsAgreeOnARangeThatHoldsSomeTargets) {
  const kernels::CrossEntropy shape{kRows, width(), 10, 0.25};
  Values maximum(kRows), total(kRows), target_logit(kRows), loss(kRows), gradient = logits_;
  reference::cross_entropy_maximum(shape, logits_, maximum);
  reference::cross_entropy_sums(shape, targets_, logits_, maximum, total, target_logit);
  reference::cross_entropy_loss(targets_, maximum, total, target_logit, loss);
  reference::cross_entropy_gradient(shape, targets_, maximum, total, gradient);
  const Device<std::int32_t> d_targets(targets_);
  const Array d_logits(element(), logits_), d_maximum(Element::f32, kRows), d_total(Element::f32, kRows);
  const Array d_target_logit(Element::f32, kRows), d_loss(Element::f32, kRows);
  gpu::cross_entropy_maximum(shape, element(), d_logits.data(), d_maximum.floats(), nullptr);
  gpu::cross_entropy_sums(shape, element(), d_targets.data(), d_logits.data(), d_maximum.floats(), d_total.floats(),
                          d_target_logit.floats(), nullptr);
  gpu::cross_entropy_loss(kRows, d_targets.data(), d_maximum.floats(), d_total.floats(), d_target_logit.floats(),
                          d_loss.floats(), nullptr);
  gpu::cross_entropy_gradient(shape, element(), d_targets.data(), d_maximum.floats(), d_total.floats(), d_logits.data(),
                              nullptr);
  test::expect_close(d_maximum.values(), maximum, 1e-6, "maximum");
  test::expect_close(d_total.values(), total, 1e-5, "total");
  test::expect_close(d_target_logit.values(), target_logit, 1e-6, "target logit");
  test::expect_close(d_loss.values(), loss, 1e-5, "loss");
  test::expect_close(d_logits.values(), gradient, close(), "gradient");
}

TEST_P(LossKernel, PartsAreJoinedAlike) {
  // Totals of at least 1, maxima of the whole above those of the part.
  const Values own_maximum = random(kRows, 2), maximum(kRows, 3.0), own_total{1, 2, 3, 4, 5}, total{2, 3, 4, 5, 6};
  const Values target_rows = random(kRows * width(), 3);
  Values rescaled = own_total, states = logits_;
  reference::rescale_total(own_maximum, maximum, rescaled);
  reference::join_states({kRows, width(), 0.25}, targets_, own_maximum, own_total, maximum, total, target_rows, states);
  const Device<std::int32_t> d_targets(targets_);
  const Array d_own_maximum(Element::f32, own_maximum), d_maximum(Element::f32, maximum), d_total(Element::f32, total);
  const Array d_own_total(Element::f32, own_total), d_rescaled(Element::f32, own_total);
  const Array d_rows(element(), target_rows), d_states(element(), logits_);
  gpu::rescale_total(kRows, d_own_maximum.floats(), d_maximum.floats(), d_rescaled.floats(), nullptr);
  gpu::join_states({kRows, width(), 0.25}, element(), d_targets.data(), d_own_maximum.floats(), d_own_total.floats(),
                   d_maximum.floats(), d_total.floats(), d_rows.data(), d_states.data(), nullptr);
  test::expect_close(d_rescaled.values(), rescaled, 1e-5, "rescaled total");
  test::expect_close(d_states.values(), states, close(), "states' gradient");
}

INSTANTIATE_TEST_SUITE_P(Gpu, LossKernel, test::kCases, test::case_name);

}  // namespace
