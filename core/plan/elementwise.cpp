// SPDX-License-Identifier: Apache-2.0
#include "core/plan/elementwise.h"

#include <algorithm>
#include <cmath>

#include "core/spec/model_code.h"

namespace plan {
namespace {

using Kind = MemoryBound::Kind;

/// Nothing waits for a backward that never comes.
bool inputs_in_fp8(const Context& c) { return c.job.training.fp8_activation_inputs && !c.serves; }

/// Megatron's fused softmax of a causal model reads no score above the diagonal and writes zeros there
/// (scaled_upper_triang_masked_softmax.h).
double share_read(const Context& c) {
  const bool fused = c.attention == spec::AttentionKernel::fused_softmax && softmax_is_one_kernel(c);
  return fused && c.model.causal ? 0.5 : 1;
}

/// Megatron Core's squared_relu is one kernel by its JIT decorator (core/activations.py). In eager PyTorch relu and the
/// square are one each; what they keep, relu's result and the square, is as much as the fused one's input and result.
bool eager_square(const Context& c) {
  return c.model.activation == spec::Activation::squared_relu && !c.fused_activation;
}

/// GELU written out, x / 2 (1 + tanh(c (x + d x^3))): eight operations, and as autograd has it eleven backward. Of 16
/// bits under autocast pow, and so what follows, is in fp32: two casts forward, four backward (torch.autocast's list).
struct WrittenGelu {
  double read, written;
  int kernels;
};
WrittenGelu written_gelu_forward(double e) { return e < 4 ? WrittenGelu{40, 36, 10} : WrittenGelu{10 * e, 8 * e, 8}; }
WrittenGelu written_gelu_backward(double e) {
  return e < 4 ? WrittenGelu{70, 48, 15} : WrittenGelu{17 * e, 11 * e, 11};
}

/// Times of contiguous kernels that the eager rotary embedding takes: PyTorch's kernels load heads that are turned in
/// memory (Transformers), and products with a table that is the same for all heads, number by number. Forward and
/// backward of 2,048 tokens of 8,192 on A100 take what 50 and 60 bytes a number would of the HBM, where 20 and 30 are
/// moved and other kernels reach 0.79 of it (linkedin/Liger-Kernel benchmark/data/all_benchmark_data.csv @ ead96b61,
/// huggingface, September 2024); on an H100 49 and 64, not turned 46 and 61, others 0.85 (tests/torch/probe.py).
double strided_rope(const Context& c) {
  const spec::Framework& f = c.job.framework;
  return f.strided_eager || (f.turned_heads && f.separate_linears) ? 1.75 : 1;
}

/// Whether the halves come of two matmuls; experts have a width of their own.
bool halves_apart(const Context& c, std::int64_t width) {
  return width == 0 ? c.job.framework.separate_linears : separates_experts(c);
}

/// The same of the halves of one result, whose rows lie apart: on an H100 21 bytes a number of the product forward, 41
/// backward, where 10 and 26 are moved (tests/torch/probe.py; 19 and 38 in Liger-Kernel's data).
struct Halves {
  double forward = 1, backward = 1;
};
Halves strided_halves(const Context& c, std::int64_t width) {
  return c.job.framework.strided_eager && !halves_apart(c, width) ? Halves{1.75, 1.35} : Halves{};
}

}  // namespace

bool separates_experts(const Context& c) {
  return c.job.framework.separate_experts && c.model.gated_mlp && !c.model.bias && !c.strategy.lora;
}

Chain chain(Kind kind, std::int64_t elements, double read, double written, int kernels) {
  Chain out;
  out.work.kind = kind;
  out.work.read = static_cast<std::int64_t>(read * static_cast<double>(elements));
  out.work.written = static_cast<std::int64_t>(written * static_cast<double>(elements));
  out.work.kernels = kernels;
  out.launches = kernels;
  return out;
}

int kept_by_eager_gate(const Context& c) {
  if (!c.model.gated_mlp || c.fused_activation) return 0;
  return c.model.activation == spec::Activation::clamped_swiglu ? 4 : 1;
}

std::int64_t kept_of_written_gelu(const Context& c) {
  if (!c.job.framework.written_gelu) return 0;
  return c.element < 4 ? 12 : 3 * c.element;  // tanh, 1 + tanh, and x in fp32 or x / 2
}

std::int64_t activation_input_element(const Context& c) { return inputs_in_fp8(c) ? 1 : c.element; }

bool eager_norm(const Context& c) { return !c.fused_norm && c.model.norm == spec::Norm::rmsnorm; }

/// Whether a fused norm of such rows is left to a kernel for any width.
bool is_general(const Context& c, std::int64_t width) {
  const std::vector<int>& tuned = c.job.framework.tuned_norms;
  return width > 0 && !tuned.empty() && std::ranges::find(tuned, width) == tuned.end();
}

Chain norm_forward(const Context& c, std::int64_t elements, std::int64_t width, std::int64_t element) {
  const double e = static_cast<double>(element);
  if (!eager_norm(c)) {
    const double pace = is_general(c, width) ? c.job.framework.general_norm : 1;
    return chain(Kind::norm, elements, pace * e, pace * e, 1);
  }
  if (element == 4) return chain(Kind::eager_norm, elements, 16, 12, 5);  // square, mean, scale, weight
  return chain(Kind::eager_norm, elements, 16 + 2 * e, 12 + 2 * e, 7);    // and the casts to fp32 and back
}

Chain norm_backward(const Context& c, std::int64_t elements, std::int64_t width, std::int64_t element) {
  const double e = static_cast<double>(element);
  if (!eager_norm(c)) {  // input gradient; weight gradient's reduction
    const spec::Framework& f = c.job.framework;
    const bool general = is_general(c, width);
    const double pace = general ? f.general_norm_backward : f.norm_backward;
    Chain out = chain(Kind::norm, elements, 2 * e * pace, e * pace, 2);
    if (general) out.work.waits = std::llround(1e9 * f.general_norm_sums.si());
    return out;
  }
  // Of x float, y = w (x rsqrt(mean x^2)) in bf16, as autograd has it: w's two gradients; x's through the product,
  // through the mean and through pow, which takes x^1 and 2 x apart; their sum. Small ones a row besides.
  const bool casts = element < 4;
  return chain(Kind::eager_norm, elements, casts ? 44 + 5 * e : 56, casts ? 32 + 3 * e : 36, 12);
}

Chain query_key_norm(const Context& c, bool backward) {
  const std::int64_t elements = c.tokens * (c.q_width + c.kv_width);
  const spec::QkScale scale = c.model.qk_scale;
  const std::int64_t width = scale == spec::QkScale::width ? c.q_width : scale == spec::QkScale::head ? c.head_dim : 0;
  Chain out = backward ? norm_backward(c, elements, width, c.element) : norm_forward(c, elements, width, c.element);
  out.launches *= 2;
  out.work.waits *= 2;
  return out;
}

/// torchtitan's gpt-oss (models/gpt_oss/moe.py, swiglu, 2026) takes every other column of one result, so that whole
/// lines are read for half of their numbers. Forward: two clamps, the scaled gate, its sigmoid, their product, and one
/// kernel for the product with the other half and the sum (OpenAI's own and Transformers' code has two).
Chain clamped_forward(std::int64_t elements, double e) {
  constexpr double apart = 2;
  return chain(Kind::elementwise, elements, (2 * apart + 1 + 1 + 2 + 3) * e, 6 * e, 6);
}

/// Backward: four products, two sums and the sigmoid's of two tensors each, the scale; masks of a byte for three bounds
/// and a fourth that joins two, both clamps; zeros, a copy into every other column of them for each half, their sum.
Chain clamped_backward(std::int64_t elements, double e) {
  constexpr double apart = 2, mask = 1;
  const double pointwise = 7 * 2 + 1, clamps = 3 * apart + 2;
  return chain(Kind::elementwise, elements, (pointwise + clamps + 2 + 2 * apart) * e + 4 * mask,
               (8 + 2 + 2 * 2 * apart + apart) * e + 4 * mask, 8 + 6 + 4 + 1);
}

Chain activation_forward(const Context& c, std::int64_t tokens, std::int64_t width) {
  const double e = static_cast<double>(c.element);
  const std::int64_t elements = tokens * (width > 0 ? width : c.ffn);
  if (eager_square(c)) return chain(Kind::elementwise, elements, 2 * e, 2 * e, 2);  // relu; square
  if (c.job.framework.written_gelu) {
    const WrittenGelu all = written_gelu_forward(e);
    return chain(Kind::elementwise, elements, all.read, all.written, all.kernels);
  }
  if (!c.model.gated_mlp) return chain(Kind::elementwise, elements, e, e, 1);
  if (inputs_in_fp8(c)) {  // and a cast of both halves to fp8
    return c.fused_activation ? chain(Kind::elementwise, elements, 4 * e, e + 2, 2)
                              : chain(Kind::elementwise, elements, 5 * e, 2 * e + 2, 3);
  }
  if (c.fused_activation) return chain(Kind::elementwise, elements, 2 * e, e, 1);
  if (c.model.activation == spec::Activation::clamped_swiglu) return clamped_forward(elements, e);
  const double slower = strided_halves(c, width).forward;
  return chain(Kind::elementwise, elements, slower * 3 * e, slower * 2 * e, 2);  // silu; times the other half
}

Chain activation_backward(const Context& c, std::int64_t tokens, std::int64_t width) {
  const double e = static_cast<double>(c.element);
  const std::int64_t elements = tokens * (width > 0 ? width : c.ffn);
  // To the first power, times two, times the gradient; masked where relu was zero.
  if (eager_square(c)) return chain(Kind::elementwise, elements, 6 * e, 4 * e, 4);
  if (c.job.framework.written_gelu) {
    const WrittenGelu all = written_gelu_backward(e);
    return chain(Kind::elementwise, elements, all.read, all.written, all.kernels);
  }
  if (!c.model.gated_mlp) return chain(Kind::elementwise, elements, 2 * e, e, 1);
  if (inputs_in_fp8(c)) {  // and a cast of both halves from fp8
    return c.fused_activation ? chain(Kind::elementwise, elements, 3 * e + 2, 4 * e, 2)
                              : chain(Kind::elementwise, elements, 8 * e + 2, 7 * e, 5);
  }
  if (c.fused_activation) return chain(Kind::elementwise, elements, 3 * e, 2 * e, 1);
  if (c.model.activation == spec::Activation::clamped_swiglu) return clamped_backward(elements, e);
  // Two products, silu'; and the halves joined, where they are of one matmul.
  if (halves_apart(c, width)) return chain(Kind::elementwise, elements, 6 * e, 3 * e, 3);
  const double slower = strided_halves(c, width).backward;
  return chain(Kind::elementwise, elements, slower * 8 * e, slower * 5 * e, 4);
}

Chain rotation(const Context& c, std::int64_t elements, bool backward) {
  const double e = static_cast<double>(c.element), apart = strided_rope(c);
  if (c.fused_rope) return chain(Kind::elementwise, elements, e, e, 1);
  // To fp32, times the table, back: of queries and of keys.
  if (rotates_complex(c.job)) {
    const double casts = e < 4 ? 4 + e : 0;
    return chain(Kind::elementwise, elements, 4 + casts, 4 + casts, e < 4 ? 6 : 2);
  }
  // Slices give back whole tensors of zeros with one half filled.
  if (backward) return chain(Kind::elementwise, elements, apart * 7.5 * e, apart * 7.5 * e, 12);
  // cos, negate, join, sin, add; queries and keys
  return chain(Kind::elementwise, elements, apart * 5.5 * e, apart * 4.5 * e, 10);
}

Chain rope_forward(const Context& c) { return rotation(c, c.tokens * (c.q_width + c.kv_width), false); }
Chain rope_backward(const Context& c) { return rotation(c, c.tokens * (c.q_width + c.kv_width), true); }

Chain expand_kv(const Context& c, bool backward) {
  const double e = static_cast<double>(c.element);
  const double one = static_cast<double>(c.kv_heads) / c.attention_kv_heads;
  const std::int64_t elements = 2 * c.tokens * c.attention_kv_heads * c.head_dim;
  return backward ? chain(Kind::reduce, elements, e, e * one, 2) : chain(Kind::copy, elements, e * one, e, 2);
}

Chain gradient_sum(const Context& c, std::int64_t elements, int parts) {
  const double e = static_cast<double>(c.strategy.compile ? c.element : c.stream);
  if (c.strategy.compile) return chain(Kind::elementwise, elements, parts * e, e, 1);
  return chain(Kind::elementwise, elements, 2 * (parts - 1) * e, (parts - 1) * e, parts - 1);
}

Chain residual_forward(const Context& c) {
  const double e = static_cast<double>(c.element), s = static_cast<double>(c.stream);
  const std::int64_t elements = c.shard_tokens * c.hidden;
  // A graph compiler joins it with the norm behind, which then reads the sum where it was made.
  if (c.strategy.compile) return chain(Kind::elementwise, elements, c.dropout ? e + 1 : e, s, 0);
  if (!c.dropout) return chain(Kind::elementwise, elements, e + s, s, 1);
  if (c.fused_activation && !c.autocast) return chain(Kind::elementwise, elements, 2 * e, e + 1, 1);
  return chain(Kind::elementwise, elements, 2 * e + s, e + s + 1, 2);
}

Chain dropout_forward(const Context& c, std::int64_t elements) {
  const double e = static_cast<double>(c.element);
  return chain(Kind::elementwise, elements, e, e + 1, 1);
}

Chain dropout_backward(const Context& c, std::int64_t elements) {
  const double e = static_cast<double>(c.element);
  return chain(Kind::elementwise, elements, e + 1, e, 1);
}

Chain residual_backward(const Context& c) {
  const double s = static_cast<double>(c.stream);
  const double cast = c.autocast ? static_cast<double>(c.element) : 0;  // the gradient of the branch
  const std::int64_t elements = c.shard_tokens * c.hidden;
  if (c.strategy.compile) return chain(Kind::elementwise, elements, s, cast, 0);  // in the norm's kernel
  return chain(Kind::elementwise, elements, (c.autocast ? 3 : 2) * s, s + cast, c.autocast ? 2 : 1);
}

bool softmax_is_one_kernel(const Context& c) {
  return c.strategy.compile || (c.fused_softmax && c.attention != spec::AttentionKernel::unfused);
}

bool upcasts_scores(const Context& c) { return c.element < 4 && !softmax_is_one_kernel(c); }

Chain softmax_forward(const Context& c, std::int64_t scores) {
  const double e = upcasts_scores(c) ? 4 : static_cast<double>(c.element);
  return chain(Kind::softmax, scores, e * share_read(c), e, 1);
}

Chain softmax_backward(const Context& c, std::int64_t scores) {
  const double e = upcasts_scores(c) ? 4 : static_cast<double>(c.element);
  return chain(Kind::softmax, scores, 2 * e * share_read(c), e, 1);
}

Chain scores_around_softmax(const Context& c, std::int64_t scores) {
  const double e = static_cast<double>(c.element);
  const int kernels = c.job.framework.scales_scores ? 2 : 1;
  if (!upcasts_scores(c)) return chain(Kind::elementwise, scores, kernels * e, kernels * e, kernels);
  return chain(Kind::elementwise, scores, (kernels + 1) * e + 4, (kernels + 1) * e + 4, kernels + 2);
}

Chain copy_of(const Context& c, std::int64_t elements) {
  const double e = static_cast<double>(c.element);
  return chain(Kind::copy, elements, e, e, 1);
}

Chain bias_gradient(const Context& c, std::int64_t tokens, std::int64_t width) {
  return chain(Kind::reduce, tokens * width, static_cast<double>(c.element), 0, 1);
}

// by_expert, Megatron Core's TEGroupedMLP._apply_bias (megatron/core/transformer/moe/experts.py, 2025): bias times the
// shares, fp32; added to the rows; joined; back to storage. Backward: to fp32; of each expert the rows' gradients in
// storage, the bias' products and their sum, the shares' products and sums, and an addition to the main gradient; the
// rows joined. The first matmul adds its own.
// by_row, torchtitan's experts of gpt-oss (torchtitan/models/gpt_oss/moe.py, 2025): repeat_interleave and an addition;
// backward index_add, of which an H100 takes 28 to 33 bytes a number (moe_rows.cpp).
Chain expert_biases(const Context& c, std::int64_t rows, std::int64_t width, std::int64_t experts, bool last) {
  const double e = static_cast<double>(c.element);
  const int each = static_cast<int>(experts);
  switch (c.job.framework.expert_biases) {
    case spec::ExpertBiases::fused: break;
    case spec::ExpertBiases::by_expert:
      if (last) return chain(Kind::elementwise, rows * width, e + 4 + 4 + 4, 4 + 4 + 4 + e, 2 * each + 2);
      break;
    case spec::ExpertBiases::by_row: return chain(Kind::elementwise, rows * width, 2 * e, 2 * e, 3);
  }
  return {};
}

Chain expert_bias_gradient(const Context& c, std::int64_t rows, std::int64_t width, std::int64_t experts, bool last) {
  const double e = static_cast<double>(c.element);
  const int each = static_cast<int>(experts);
  switch (c.job.framework.expert_biases) {
    case spec::ExpertBiases::fused: break;
    case spec::ExpertBiases::by_expert:
      if (last) return chain(Kind::elementwise, rows * width, 2 * e + 20, 2 * e + 12, 7 * each + 2);
      break;
    case spec::ExpertBiases::by_row: return chain(Kind::elementwise, rows * width, 15, 15, 2);
  }
  return bias_gradient(c, rows, width);
}

bool adds_gradients(const Context& c) {
  const bool sums = c.microbatches > 1 && !(c.scatters_gradients && c.strategy.fsdp.sync_each_microbatch);
  return c.separate_gradients || sums;
}

double added_share(const Context& c) {
  if (c.fused_accumulation || (c.separate_gradients && !c.autocast)) return 1;
  return adds_gradients(c) ? static_cast<double>(c.microbatches - 1) / static_cast<double>(c.microbatches) : 0;
}

Chain accumulate_gradient(const Context& c, std::int64_t parameters) {
  const double e = static_cast<double>(c.element), g = static_cast<double>(c.gradient_element);
  const double adds = added_share(c);
  if (c.autocast) {  // cast, then added
    return chain(Kind::reduce, parameters, e + 2 * g * adds, g + g * adds, c.microbatches > 1 ? 2 : 1);
  }
  return chain(Kind::reduce, parameters, (e + g) * adds, g * adds, 1);
}

Chain loss_maximum(const Context& c) {
  const double e = static_cast<double>(c.element);
  const std::int64_t logits = c.tokens * c.vocab;
  if (c.fused_loss) return chain(Kind::loss, logits, e, 0, 1);
  return c.element == 4 ? chain(Kind::elementwise, logits, 4, 0, 1)
                        : chain(Kind::elementwise, logits, e + 4, 4, 2);  // to fp32; maximum
}

Chain loss_forward(const Context& c) {
  const double e = static_cast<double>(c.element);
  const std::int64_t logits = c.tokens * c.vocab;
  if (c.fused_loss) return chain(Kind::loss, logits, e, c.job.framework.keeps_logits ? 0 : e, 1);
  const int moved = c.job.framework.moves_logits ? 4 : 0;  // first, a copy
  return chain(Kind::elementwise, logits, moved + 4 + 4 + 4 + 4, moved + 4 + 4 + 4,
               moved > 0 ? 7 : 6);  // subtract, exponential, sum, divide, pick
}

Chain loss_backward(const Context& c) {
  const double e = static_cast<double>(c.element);
  const std::int64_t logits = c.tokens * c.vocab;
  if (c.fused_loss) return chain(Kind::loss, logits, e, e, 1);
  if (c.job.framework.moves_logits) {  // their gradient to its place among zeros
    return chain(Kind::elementwise, logits, 4 + 4 + 4, 4 + 4 + 4 + e, 6);
  }
  return chain(Kind::elementwise, logits, 4 + 4, 4 + e, 4);  // scale by the gradient; back to storage
}

}  // namespace plan
