// SPDX-License-Identifier: Apache-2.0
#include "core/plan/layer_operators.h"

#include <string>

#include "core/plan/elementwise.h"

namespace plan {
namespace {

using Type = spec::Layer::Type;
using Kind = MemoryBound::Kind;

Convolution convolution(const Context& c, const spec::Layer& l, Convolution::Pass pass) {
  return {pass,
          c.batch,
          l.size,
          l.in,
          l.out,
          static_cast<int>(l.kernel),
          static_cast<int>(l.stride),
          static_cast<int>(l.padding),
          l.groups,
          c.dtype,
          c.storage};
}

}  // namespace

/// Bytes by numbers of the storage dtype.
void LayerOperators::move(Kind kind, double read, double written, const std::string& name, int kernels) const {
  const double e = static_cast<double>(c_.element) * static_cast<double>(c_.batch);
  out_.compute(MemoryBound{kind, static_cast<std::int64_t>(read * e), static_cast<std::int64_t>(written * e), kernels},
               name, kernels);
}

/// Tensor cores, which depthwise convolutions do without, want the channels of a pixel together. What lies channels
/// first is copied in front of a convolution, and its result back.
void LayerOperators::convolve(const spec::Layer& l, Convolution::Pass pass, const std::string& name) const {
  using Pass = Convolution::Pass;
  const double in = static_cast<double>(l.in_elements()), out = static_cast<double>(l.out_elements());
  const bool turns = c_.dtype == spec::Dtype::tf32 && c_.job.framework.channels_first_tf32 && l.groups < l.in;
  const auto turn = [&](double numbers, const std::string& what) {
    if (turns) move(Kind::copy, numbers, numbers, what);
  };
  if (pass != Pass::data_gradient) turn(in, name + " input to channels last");
  if (pass != Pass::forward) turn(out, name + " output gradient to channels last");
  out_.compute(convolution(c_, l, pass), name);
  if (pass == Pass::forward) turn(out, name + " to channels first");
  if (pass == Pass::data_gradient) turn(in, name + " to channels first");
}

void LayerOperators::forward(const spec::Layer& l) const {
  const double in = static_cast<double>(l.in_elements()), out = static_cast<double>(l.out_elements());
  switch (l.type) {
    case Type::convolution: convolve(l, Convolution::Pass::forward, l.name); break;
    case Type::dense:
      out_.compute(Matmul{c_.batch * l.size * l.size, l.out, l.in, 1, c_.dtype, c_.storage, false}, l.name);
      break;
    case Type::batchnorm: move(Kind::norm, 2 * in, out, l.name); break;
    case Type::groupnorm: move(Kind::norm, 2 * in, out, l.name, 2); break;
    case Type::add: move(Kind::elementwise, 2 * in, out, l.name); break;
    case Type::attention: {
      const std::int64_t tokens = l.size * l.size;
      out_.compute(Attention{c_.attention, c_.batch, tokens, tokens, l.heads, l.heads,
                             static_cast<int>(l.out / l.heads), false, 0, false, false, c_.storage},
                   l.name);
      break;
    }
    case Type::interaction:
      out_.compute(Matmul{l.features, l.features, l.in / l.features, c_.batch, c_.operand, c_.storage, false}, l.name);
      move(Kind::copy, out, out, l.name + " join");
      break;
    case Type::concat: move(Kind::copy, out, out, l.name); break;
    default: move(Kind::elementwise, in, out, l.name);
  }
  if (!l.relu) return;
  const bool joins =
      l.type == Type::batchnorm || l.type == Type::groupnorm || l.type == Type::add || l.type == Type::dense;
  if (!joins || !c_.fused_activation) move(Kind::elementwise, out, out, l.name + " relu");
}

void LayerOperators::weight_gradient_sum(const spec::Layer& l) const {
  // Where units copy gradients into their reduction each time, there is no sum of microbatches.
  const bool copied = c_.scatters_gradients && c_.strategy.fsdp.sync_each_microbatch && !c_.fused_accumulation;
  const bool sums = (!c_.fused_accumulation && c_.microbatches > 1) || l.type == Type::convolution;
  if (c_.separate_gradients || (sums && !copied)) {
    const Chain sum = accumulate_gradient(c_, l.parameters());
    out_.compute(sum.work, l.name + " gradient accumulation", sum.launches);
  }
  if (l.bias) {
    const Chain sum = bias_gradient(c_, c_.batch * l.out_size() * l.out_size(), l.out);
    out_.compute(sum.work, l.name + " bias gradient", sum.launches);
  }
}

void LayerOperators::backward(const spec::Layer& l) const {
  const double in = static_cast<double>(l.in_elements()), out = static_cast<double>(l.out_elements());
  const bool first = l.reads < 0;  // nobody asks for the gradient of the network's input
  if (l.relu) move(Kind::elementwise, 2 * out, out, l.name + " relu gradient");
  switch (l.type) {
    case Type::convolution:
      if (!first) convolve(l, Convolution::Pass::data_gradient, l.name + " data gradient");
      convolve(l, Convolution::Pass::weight_gradient, l.name + " weight gradient");
      weight_gradient_sum(l);
      break;
    case Type::dense: {
      const std::int64_t rows = c_.batch * l.size * l.size;
      if (!first)
        out_.compute(
            Matmul{rows, l.in, l.out, 1, c_.dtype, c_.storage, false, false, false, Matmul::Pass::input_gradient},
            l.name + " input gradient");
      const bool fused = c_.fused_accumulation;
      out_.compute(Matmul{l.in, l.out, rows, 1, c_.dtype, fused ? c_.job.training.gradients() : c_.storage, fused,
                          false, false, Matmul::Pass::weight_gradient},
                   l.name + " weight gradient");
      weight_gradient_sum(l);
      break;
    }
    case Type::batchnorm: move(Kind::norm, 4 * in, in, l.name + " gradient"); break;
    case Type::groupnorm: move(Kind::norm, 4 * in, in, l.name + " gradient", 2); break;
    case Type::activation: move(Kind::elementwise, 2 * in, in, l.name + " gradient"); break;
    case Type::add: move(Kind::elementwise, 2 * in, in, l.name + " gradient"); break;  // where the branches meet again
    case Type::attention: {
      const std::int64_t tokens = l.size * l.size;
      out_.compute(Attention{c_.attention, c_.batch, tokens, tokens, l.heads, l.heads,
                             static_cast<int>(l.out / l.heads), false, 0, true, false, c_.storage},
                   l.name + " gradient", 3);
      break;
    }
    case Type::interaction: {
      const Matmul one{l.features, l.in / l.features, l.features, c_.batch, c_.operand, c_.storage, false};
      move(Kind::copy, out, out, l.name + " split");
      out_.compute(one, l.name + " left gradient");
      out_.compute(one, l.name + " right gradient");
      break;
    }
    case Type::concat: move(Kind::copy, out, out, l.name + " gradient"); break;
    default: move(Kind::elementwise, out, in, l.name + " gradient");
  }
}

}  // namespace plan
