// core/plan/layer_operators.h -- one operator of a layer list as works, forward and backward.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/builder.h"
#include "core/plan/context.h"

namespace plan {

/// Convolutions and dense layers multiply (an input gradient, a weight gradient); everything else moves bytes: a
/// batchnorm reads its input twice (statistics, then the result) and twice the gradient beside it in its backward. A
/// relu is part of the kernel before it where activations are fused, a kernel of its own otherwise.
class LayerOperators {
 public:
  LayerOperators(const Context& c, SegmentBuilder& out) : c_(c), out_(out) {}
  /// REQUIRES: not an embedding_bag.
  void forward(const spec::Layer&) const;
  void backward(const spec::Layer&) const;

 private:
  void move(MemoryBound::Kind, double read, double written, const std::string& name, int kernels = 1) const;
  void convolve(const spec::Layer&, Convolution::Pass, const std::string& name) const;
  void weight_gradient_sum(const spec::Layer&) const;

  const Context& c_;
  SegmentBuilder& out_;
};

}  // namespace plan
