// SPDX-License-Identifier: Apache-2.0
#include "core/plan/tensor_parallel.h"

#include <algorithm>

#include "core/plan/adapters.h"
#include "core/plan/autocast.h"
#include "core/plan/elementwise.h"
#include "core/plan/lora.h"
#include "core/plan/low_precision.h"

namespace plan {

using spec::TpOverlap;

namespace {

/// The event of a ring's i-th shard. Two take turns: a shard is on its way while the one before is multiplied.
EventId arrived(int shard) { return static_cast<EventId>(kGathered + shard % 2); }

}  // namespace

Linear qkv_linear(const Context& c) {
  Linear out{"qkv", c.hidden, c.qkv_product, c.model.has_qkv_bias()};
  if (c.job.framework.separate_linears) out.parts = {c.q_width + c.gate_width, c.kv_width, c.kv_width};
  return out;
}

Linear up_linear(const Context& c) {
  Linear out{"feed-forward up", c.hidden, c.up_width, c.model.bias};
  if (c.job.framework.separate_linears && c.model.gated_mlp) out.parts = {c.ffn, c.ffn, 0};
  return out;
}

Linear proj_linear(const Context& c) {
  return {"attention output", c.context_width, c.hidden, c.model.has_proj_bias()};
}

Linear down_linear(const Context& c) { return {"feed-forward down", c.ffn, c.hidden, c.model.bias}; }

std::string TensorParallel::called(const Linear& linear, const char* what) const {
  return std::string(linear.name) + ' ' + what;
}

void TensorParallel::matmul(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view name, bool gradient,
                            int launches) {
  if (m == 0 || n == 0 || k == 0) return;
  const spec::Dtype dtype = matmul_dtype(c_, out_.layer);
  out_.compute(Matmul{m, n, k, 1, dtype, c_.storage, false, false, gradient && promotes(dtype),
                      gradient ? Matmul::Pass::input_gradient : Matmul::Pass::forward},
               name, launches);
}

void TensorParallel::product(const Linear& linear, std::int64_t rows, int launches) {
  if (linear.parts[0] == 0) return matmul(rows, linear.out, linear.in, linear.name, false, launches);
  for (const std::int64_t out : linear.parts) matmul(rows, out, linear.in, linear.name, false, launches);
}

std::int64_t TensorParallel::bytes_of(std::int64_t elements, double element) const {
  return element > 0 ? static_cast<std::int64_t>(element * static_cast<double>(elements)) : elements * c_.element;
}

void TensorParallel::communicate(const Collective& collective, std::string_view name, int launches) {
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, Axis::tp});
  out_.communicate(collective, name, Stream::tp, channel, {Stream::compute}, launches);
}

void TensorParallel::start(CollectiveKind kind, std::int64_t elements, std::string_view name, double element,
                           int launches) {
  communicate({kind, bytes_of(elements, element), c_.tp_group}, name, launches);
}

/// Transformer Engine gathers by copy engines and reduces by a kernel on 16 SMs (pytorch/module/base.py, initialize_ub:
/// methods ring_exchange with use_ce and pipeline; 2023 to 2025).
void TensorParallel::start_hop(std::int64_t elements, std::string_view name, double element, int launches) {
  communicate(
      {.kind = CollectiveKind::shift, .bytes = bytes_of(elements, element), .group = c_.tp_group, .copy_engine = true},
      name, launches);
}

void TensorParallel::lay_out(CollectiveKind kind, std::int64_t elements, std::string_view name, double element) {
  if (!c_.sp || !c_.job.framework.copies_sequence) return;
  const std::int64_t bytes = bytes_of(elements, element);
  out_.take(Category::workspace, bytes);  // what was sent, or what came
  if (kind == CollectiveKind::reduce_scatter && c_.tp_overlap == TpOverlap::chunked) {
    out_.compute(MemoryBound{MemoryBound::Kind::reduce, bytes, bytes / c_.tp, 1}, std::string(name) + " summed");
  } else {
    out_.compute(MemoryBound{MemoryBound::Kind::copy, bytes, bytes, 1}, std::string(name) + " laid out");
  }
  out_.give(Category::workspace, bytes);
}

void TensorParallel::collective(CollectiveKind kind, std::int64_t elements, std::string_view name, double element) {
  if (c_.tp == 1) return;
  if (kind == CollectiveKind::reduce_scatter) lay_out(kind, elements, name, element);
  start(kind, elements, name, element);
  out_.join(Stream::tp);
  if (kind == CollectiveKind::all_gather) lay_out(kind, elements, name, element);
}

void TensorParallel::column_forward_again(const Linear& linear, bool kept, bool gathers) {
  if (!kept) return column_forward(linear, gathers);
  const bool whole = c_.tp_overlap == spec::TpOverlap::none || c_.tp_overlap == spec::TpOverlap::wgrad;
  if (c_.sp && gathers && c_.job.framework.keeps_gathered && whole) {
    collective(CollectiveKind::all_gather, c_.tokens * linear.in, called(linear, "all-gather"));
  }
}

void TensorParallel::column_forward(const Linear& linear, bool gathers) {
  const bool scattered = c_.sp && gathers;
  {
    const ExpandedBase base(c_, out_, linear);
    Casts casts(c_, out_, linear);
    casts.weight(linear.in * linear.out);
    casts.input((scattered ? c_.shard_tokens : c_.tokens) * linear.in, true, scattered);
    cast_weight(c_, out_, linear);
    cast_input(c_, out_, linear, c_.tokens * linear.in);
    column_product(linear, gathers);
  }
  adapter_forward(c_, out_, linear, Side::column);
}

void TensorParallel::column_product(const Linear& linear, bool gathers) {
  if (!c_.sp || !gathers) return product(linear, c_.tokens);
  const std::string gather = called(linear, "all-gather");
  const double element = narrow(c_, out_.layer) ? gathered_bytes(c_, false) : 0;
  switch (c_.tp_overlap) {
    case TpOverlap::none:
    case TpOverlap::wgrad:
      collective(CollectiveKind::all_gather, c_.tokens * linear.in, gather, element);
      return product(linear, c_.tokens);
    case TpOverlap::chunked:  // the rank's own shard is multiplied while the others arrive
      start(CollectiveKind::all_gather, c_.tokens * linear.in, gather, element);
      product(linear, c_.shard_tokens);
      out_.join(Stream::tp);
      return product(linear, c_.tokens - c_.shard_tokens);
    case TpOverlap::userbuffers:  // a ring: each shard is multiplied while the next one arrives; one call issues it all
      for (int i = 0; i < c_.tp; ++i) {
        if (i + 1 < c_.tp) {
          start_hop(c_.shard_tokens * linear.in, gather, element, i == 0);
          out_.record(arrived(i + 1));
        }
        if (i > 0) out_.join(arrived(i));
        product(linear, c_.shard_tokens, i == 0);
      }
      return;
  }
}

void TensorParallel::row_forward(const Linear& linear, bool reduces) {
  {
    const ExpandedBase base(c_, out_, linear);
    Casts casts(c_, out_, linear);
    casts.weight(linear.in * linear.out);
    casts.input(c_.tokens * linear.in, false, false);
    cast_weight(c_, out_, linear);
    row_product(linear, reduces);
  }
  adapter_forward(c_, out_, linear, Side::row);
}

void TensorParallel::row_product(const Linear& linear, bool reduces) {
  if (c_.tp == 1 || !reduces) return matmul(c_.tokens, linear.out, linear.in, linear.name);
  const CollectiveKind kind = c_.sp ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  const std::string reduce = called(linear, c_.sp ? "reduce-scatter" : "all-reduce");
  const std::int64_t elements = c_.tokens * linear.out;
  if (c_.tp_overlap == TpOverlap::userbuffers) {  // each piece is reduced while the next one is multiplied
    const std::int64_t piece = c_.tokens / c_.tp;
    for (int i = 0; i < c_.tp; ++i) {
      matmul(i + 1 == c_.tp ? c_.tokens - piece * i : piece, linear.out, linear.in, linear.name, false, i == 0);
      if (c_.sp) {  // one hop of a ring; the last piece is at home, and all hops carry its share
        start(CollectiveKind::shift, elements / c_.tp * (c_.tp - 1) / c_.tp, reduce, 0, i == 0);
      } else {
        start(kind, elements / c_.tp, reduce, 0, i == 0);
      }
    }
    return out_.join(Stream::tp);
  }
  matmul(c_.tokens, linear.out, linear.in, linear.name);
  collective(kind, elements, reduce);
}

/// Of what `parts` matmuls of the linear have left.
void TensorParallel::rescale(SegmentBuilder& out, const Linear& linear, std::int64_t elements, int parts,
                             const char* what) {
  if (linear.wide || linear.rows > 0) return;
  const Chain scaled = rescale_chain(c_, elements, parts, out_.layer);
  if (scaled.launches > 0) out.compute(scaled.work, called(linear, what), scaled.launches);
}

void TensorParallel::input_gradient(const Linear& linear) {
  if (linear.rows > 0) {
    const spec::Dtype dtype = linear.wide ? c_.operand : matmul_dtype(c_, out_.layer);
    out_.compute(Matmul{linear.rows, linear.in, linear.out / linear.halves, linear.experts * linear.halves, dtype,
                        c_.storage, false, linear.experts > 1, promotes(dtype), Matmul::Pass::input_gradient},
                 called(linear, "input gradient"), linear.halves);
    if (linear.halves == 1) return;  // kernels for experts scale rows and columns themselves
    const Chain sum = gradient_sum(c_, linear.rows * linear.experts * linear.in, linear.halves);
    return out_.compute(sum.work, called(linear, "input gradients added"), sum.launches);
  }
  if (linear.parts[0] == 0) {
    matmul(c_.tokens, linear.in, linear.out, called(linear, "input gradient"), true);
    return rescale(out_, linear, c_.tokens * linear.in, 1, "input gradient scaled");
  }
  int parts = 0;
  for (const std::int64_t out : linear.parts) {
    matmul(c_.tokens, linear.in, out, called(linear, "input gradient"), true);
    parts += out > 0;
  }
  rescale(out_, linear, c_.tokens * linear.in * parts, parts, "input gradient scaled");
  const Chain sum = gradient_sum(c_, c_.tokens * linear.in, parts);
  out_.compute(sum.work, called(linear, "input gradients added"), sum.launches);
}

void TensorParallel::weight_gradient(const Linear& linear) {
  SegmentBuilder& out = out_.weights();
  if (c_.strategy.lora) return;  // frozen
  const bool fused = c_.fused_accumulation;
  const spec::Dtype result = fused ? c_.job.training.gradients() : c_.storage;
  const std::int64_t rows = linear.rows > 0 ? linear.rows : c_.tokens;
  const spec::Dtype dtype = linear.wide ? c_.operand : matmul_dtype(c_, out_.layer);
  const auto product = [&](std::int64_t width) {
    if (width == 0) return;
    out.compute(Matmul{linear.in, width / linear.halves, rows, linear.experts * linear.halves, dtype, result, fused,
                       linear.experts > 1, promotes(dtype), Matmul::Pass::weight_gradient},
                called(linear, "weight gradient"), linear.halves);
  };
  if (linear.parts[0] == 0) {
    product(linear.out);
  } else {
    for (const std::int64_t part : linear.parts) product(part);
  }
  const auto products = static_cast<int>(std::ranges::count_if(linear.parts, [](std::int64_t p) { return p > 0; }));
  rescale(out, linear, linear.in * linear.out, std::max(1, products), "weight gradient scaled");
  if (!fused && adds_gradients(c_)) {
    const Chain add = accumulate_gradient(c_, linear.in * linear.out * linear.experts);
    out.compute(add.work, called(linear, "gradient accumulation"), add.launches);
  }
  if (linear.bias && !linear.takes_narrow_gradient) {  // the kernel that makes such a gradient sums it up
    const bool last = linear.name == kExpertDown, eager = linear.rows > 0 && !linear.takes_narrow;
    const Chain sum = eager ? expert_bias_gradient(c_, rows * linear.experts, linear.out, linear.experts, last)
                            : bias_gradient(c_, rows * linear.experts, linear.out);
    out.compute(sum.work, called(linear, "bias gradient"), sum.launches);
  }
  // What a deferred product reads: both operands, narrow where their casts are kept.
  const bool narrow_now = !linear.wide && narrow(c_, out_.layer);
  const double element = narrow_now && keeps_casts(c_) ? narrow_bytes(c_) : static_cast<double>(c_.element);
  const double operands = static_cast<double>(rows * linear.experts * (linear.in + linear.out));
  out_.retain(static_cast<std::int64_t>(operands * element));
}

void TensorParallel::full_forward(const Linear& linear, Side side) {
  {
    const ExpandedBase base(c_, out_, linear);
    Casts casts(c_, out_, linear);
    casts.weight(linear.in * linear.out * linear.experts);
    if (!linear.takes_narrow) casts.input(linear.rows * linear.experts * linear.in, false, false);
    // Serving engines have one kernel for all experts (vLLM's fused_moe, 2024): batched, without a time for each.
    const spec::Dtype dtype = linear.wide ? c_.operand : matmul_dtype(c_, out_.layer);
    out_.compute(Matmul{linear.rows, linear.out / linear.halves, linear.in, linear.experts * linear.halves, dtype,
                        c_.storage, false, linear.experts > 1 && !c_.serves},
                 linear.name, linear.halves);
  }
  adapter_forward(c_, out_, linear, side);
}

void TensorParallel::full_backward(const Linear& linear, Side side, bool detached) {
  Casts casts(c_, out_, linear);
  if (!linear.takes_narrow_gradient) casts.gradient(linear.rows * linear.experts * linear.out, false);
  if (!detached) {
    const ExpandedBase base(c_, out_, linear);
    casts.again(linear.rows * linear.experts * linear.in, linear.in * linear.out * linear.experts);
    input_gradient(linear);
  }
  weight_gradient(linear);
  adapter_backward(c_, out_, linear, side);
}

void TensorParallel::row_backward(const Linear& linear, bool gathers) {
  const bool scattered = c_.sp && gathers;
  Casts casts(c_, out_, linear);
  casts.gradient((scattered ? c_.shard_tokens : c_.tokens) * linear.out, scattered);
  if (scattered) {
    collective(CollectiveKind::all_gather, c_.tokens * linear.out, called(linear, "gradient all-gather"),
               casts.narrow_now() ? gathered_bytes(c_, true) : 0);
    casts.gathered(c_.tokens * linear.out, "gradient transpose");
  }
  {
    const ExpandedBase base(c_, out_, linear);
    casts.again(c_.tokens * linear.in, linear.in * linear.out);
    input_gradient(linear);
  }
  weight_gradient(linear);
  adapter_backward(c_, out_, linear, Side::row);
}

void TensorParallel::column_backward(const Linear& linear, bool gathers, bool reduces) {
  const bool overlaps = c_.tp_overlap != TpOverlap::none;
  const bool scattered = c_.sp && gathers, kept = c_.job.framework.keeps_gathered;
  // A frozen weight needs no input; its adapter does.
  const bool regathers = scattered && !kept && (!c_.strategy.lora || adapted(c_, linear));
  Casts casts(c_, out_, linear);
  casts.gradient(c_.tokens * linear.out, false);
  {
    const ExpandedBase base(c_, out_, linear);
    casts.again(c_.tokens * linear.in, linear.in * linear.out);
    if (regathers) {  // only the weight gradient needs the gathered input, so it may arrive beside the input gradient
      start(CollectiveKind::all_gather, c_.tokens * linear.in, called(linear, "input all-gather"),
            casts.narrow_now() && !c_.strategy.lora ? gathered_bytes(c_, false) : 0);
      out_.record(kGathered);
      if (!overlaps) out_.join(kGathered);
    }
    input_gradient(linear);
    cast_input_gradient(c_, out_, linear, c_.tokens * linear.in);
  }
  if (regathers && overlaps) {
    out_.join(kGathered);
    out_.weights().join(kGathered);  // which may run before anything else that is computed here
  }
  if (regathers) lay_out(CollectiveKind::all_gather, c_.tokens * linear.in, called(linear, "input all-gather"));
  // Of kept codes, too; who casts anew casts to this layout.
  const bool finds_codes = scattered && kept && keeps_casts(c_);
  if (regathers || finds_codes) casts.gathered(c_.tokens * linear.in, "input transpose");
  adapter_backward(c_, out_, linear, Side::column);
  const bool reduced = c_.tp > 1 && reduces;
  if (reduced) {
    const CollectiveKind kind = c_.sp ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    const std::string reduce = called(linear, c_.sp ? "input gradient reduce-scatter" : "input gradient all-reduce");
    lay_out(kind, c_.tokens * linear.in, reduce);
    start(kind, c_.tokens * linear.in, reduce);
    if (!overlaps) out_.join(Stream::tp);
  }
  weight_gradient(linear);
  if (reduced) out_.join(Stream::tp);
}

}  // namespace plan
