// SPDX-License-Identifier: Apache-2.0
#include "core/plan/low_precision.h"

#include <algorithm>
#include <string>

#include "core/plan/context_parallel.h"
#include "core/plan/frozen_base.h"
#include "core/plan/states.h"
#include "core/plan/tensor_parallel.h"

namespace plan {
namespace {

using spec::Dtype;

enum class Scales { delayed, tensor, row, block, mx, nvfp4 };

Scales scales_of(const Context& c) {
  if (c.dtype == Dtype::mxfp8) return Scales::mx;
  if (c.dtype == Dtype::nvfp4) return Scales::nvfp4;
  switch (c.job.training.fp8_recipe.value_or(spec::Fp8Recipe::delayed)) {
    case spec::Fp8Recipe::tensorwise: return Scales::tensor;
    case spec::Fp8Recipe::rowwise: return Scales::row;
    case spec::Fp8Recipe::blockwise: return Scales::block;
    case spec::Fp8Recipe::delayed: return Scales::delayed;
  }
  return {};
}

/// One scale for the whole tensor: the other layout is the same numbers, transposed.
bool one_scale(const Context& c) {
  const Scales scales = scales_of(c);
  return scales == Scales::delayed || scales == Scales::tensor;
}

/// Frozen weights in fp8 with one scale a tensor lie in one layout and are turned for each input gradient: a second one
/// beside 70 billion leaves no room on any GPU that has been seen to tune them (MLPerf v5.1, eight H200, tp 1).
bool turns_frozen(const Context& c) { return c.strategy.lora && !c.serves && gathers_narrow(c) && one_scale(c); }

Chain chain(double elements, double read, double written, int kernels) {
  return {MemoryBound{MemoryBound::Kind::cast, static_cast<std::int64_t>(read * elements),
                      static_cast<std::int64_t>(written * elements), kernels},
          kernels};
}

}  // namespace

bool narrow(const spec::Job& job, int layer) {
  const spec::Training& t = job.training;
  if (spec::bytes_of(t.precision) >= 2 || layer < 0) return false;
  const int like = std::min(layer, job.model.layers - 1);  // a module's are as the last
  return like >= t.wide_layers.first && like < job.model.layers - t.wide_layers.last;
}

bool narrow(const Context& c, int layer) { return narrow(c.job, layer); }

Dtype matmul_dtype(const Context& c, int layer) { return narrow(c, layer) ? c.dtype : c.operand; }

Dtype attention_dtype(const Context& c, int layer) {
  return c.job.training.fp8_attention && !c.serves && narrow(c, layer) ? Dtype::fp8 : c.storage;
}

bool promotes(spec::Dtype dtype) { return spec::bytes_of(dtype) == 1; }

double narrow_bytes(const Context& c) {
  switch (scales_of(c)) {
    case Scales::delayed:
    case Scales::tensor:
    case Scales::row: return 1;
    case Scales::block: return 1 + 4.0 / 128;
    case Scales::mx: return 1 + 1.0 / 32;
    case Scales::nvfp4: return 0.5 + 1.0 / 16;
  }
  return 1;
}

int weight_layouts(const Context& c) {
  if (c.serves) return 1;  // no gradient multiplies along another dimension
  return one_scale(c) && traits_of(c.job.cluster.node.gpu.generation).multiplies_any_layout ? 1 : 2;
}

int operand_layouts(const Context& c) { return c.strategy.lora ? 1 : weight_layouts(c); }

bool keeps_casts(const Context& c) { return c.job.framework.keeps_casts; }

bool expands_base(const Context& c) {
  return c.strategy.lora && !narrow_alone(c) && base_bytes(c.strategy.lora->base) < static_cast<double>(c.element);
}

bool keeps_weight_casts(const Context& c) {
  return (c.serves || keeps_casts(c)) && !expands_base(c) && !turns_frozen(c);
}

bool narrow_alone(const Context& c) {
  const bool trained = (keeps_casts(c) || shards_masters(c)) && c.job.training.fp8_parameters.value_or(false);
  return spec::bytes_of(c.dtype) < 2 && (c.serves || trained);
}

bool narrow_experts_alone(const Context& c) { return narrow_alone(c) && !shards_masters(c); }

bool gathers_narrow(const Context& c) { return narrow_alone(c) && scales_of(c) != Scales::mx; }

std::int64_t code_bytes(const Context& c, std::int64_t weights) {
  if (scales_of(c) != Scales::nvfp4) return weights;
  return static_cast<std::int64_t>(static_cast<double>(weights) * narrow_bytes(c));
}

double gathered_bytes(const Context& c, bool gradient) {
  return narrow_bytes(c) * (gradient && !one_scale(c) ? operand_layouts(c) : 1);
}

Chain cast_chain(const Context& c, std::int64_t elements, int layouts) {
  const double n = static_cast<double>(elements), e = static_cast<double>(c.element), b = narrow_bytes(c);
  // Engines that serve have one kernel for codes and scales in their tiles; a tensor's scale was fixed beforehand.
  if (c.serves) return chain(n, e, layouts * b, 1);
  switch (scales_of(c)) {
    case Scales::delayed:
    case Scales::block: return chain(n, e, layouts * b, 1);
    case Scales::tensor:
      return chain(n, 2 * e, layouts * b, 2);  // the largest first, then the cast
    // A row's largest number is found as it is cast; a column's, over all tokens, in a pass before that.
    case Scales::row: return chain(n, (2 * layouts - 1) * e, layouts * b, 2 * layouts - 1);
    case Scales::mx:
      return chain(n, e + layouts / 32.0, layouts * (b + 1.0 / 32), 2);  // scales put in tiles
    // Largest; then each layout by itself, for the one along the tokens is turned by a Hadamard matrix; scales in
    // tiles.
    case Scales::nvfp4: return chain(n, e + layouts * (e + 1.0 / 16), layouts * (b + 1.0 / 16), 2 + layouts);
  }
  return {};
}

Chain rescale_chain(const Context& c, std::int64_t elements, int kernels, int layer) {
  if (!c.job.framework.rescales_rows || !narrow(c, layer) || scales_of(c) != Scales::row) return {{}, 0};
  const double bytes = static_cast<double>(elements) * static_cast<double>(c.element);
  return {MemoryBound{MemoryBound::Kind::elementwise, static_cast<std::int64_t>(bytes),
                      static_cast<std::int64_t>(bytes), kernels},
          kernels};
}

void cast_for_attention(const Context& c, SegmentBuilder& out, bool backward) {
  if (attention_dtype(c, out.layer) != Dtype::fp8) return;
  const std::int64_t operands = c.tokens * c.q_width + keys_and_values(c), gradient = c.tokens * c.context_width;
  const double n = static_cast<double>(backward ? gradient : operands);
  const int passes = scales_of(c) == Scales::tensor ? 2 : 1;  // the largest first
  const Chain cast = chain(n, passes * static_cast<double>(c.element), 1, passes);
  out.compute(cast.work, backward ? "attention gradient cast" : "attention input cast", cast.launches);
}

Casts::Casts(const Context& c, SegmentBuilder& out, const Linear& linear)
    : c_(c),
      out_(out),
      linear_(linear.name),
      narrow_(!linear.wide && narrow(c, out.layer)),
      comes_narrow_(gathers_narrow(c) && (linear.axis != Axis::etp || narrow_experts_alone(c))),
      experts_(linear.experts) {}

void Casts::write(Chain chain, std::string_view what) {
  chain.work.tensors = static_cast<int>(experts_);
  out_.compute(chain.work, std::string(linear_) + ' ' + std::string(what), chain.launches);
}

/// Codes of one layout to the other.
void Casts::turn(std::int64_t elements, std::string_view what) {
  const double bytes = static_cast<double>(code_bytes(c_, elements));
  write(chain(bytes, 1, 1, 1), what);
}

/// With one scale for what several ranks hold a part of, they agree on the largest number before they cast.
void Casts::cast(std::int64_t elements, int layouts, bool scattered, std::string_view what) {
  const bool agreed = c_.serves || !scattered || scales_of(c_) != Scales::tensor;
  if (agreed) return write(cast_chain(c_, elements, layouts), what);
  const double n = static_cast<double>(elements), e = static_cast<double>(c_.element);
  write(chain(n, e, 0, 1), "largest");
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, Axis::tp});
  out_.communicate(Collective{CollectiveKind::all_reduce, 4, c_.tp_group}, std::string(linear_) + " largest all-reduce",
                   Stream::tp, channel, {Stream::compute});
  out_.join(Stream::tp);
  write(chain(n, e, layouts * narrow_bytes(c_), 1), what);
}

void Casts::input(std::int64_t elements, bool from_norm, bool scattered) {
  if (!narrow_) return;
  const int kept = keeps_casts(c_) ? operand_layouts(c_) : 1;
  const int layouts = scattered && one_scale(c_) ? 1 : kept;  // the other layout is made behind the gather
  if (from_norm && keeps_casts(c_) && c_.fused_norm && scales_of(c_) == Scales::delayed) {
    if (layouts == 2) turn(elements, "input transpose");
    return;
  }
  cast(elements, layouts, scattered, "input cast");
}

/// A weight that was gathered in the narrow format lies in one layout.
void Casts::turn_or_cast(std::int64_t weights, int layouts) {
  if (!comes_narrow_) {
    write(cast_chain(c_, weights, layouts), "weight cast");
  } else if (weight_layouts(c_) == 2) {
    turn(weights, "weight transpose");
  }
}

void Casts::weight(std::int64_t elements) {
  if (!narrow_ || c_.serves) return;  // served weights were cast once and for all
  if (keeps_weight_casts(c_)) {
    if (out_.first_microbatch && out_.phase == Phase::forward) turn_or_cast(elements, weight_layouts(c_));
  } else if (!comes_narrow_) {
    write(cast_chain(c_, elements, 1), "weight cast");
  }
}

void Casts::gradient(std::int64_t elements, bool scattered) {
  if (!narrow_) return;
  cast(elements, scattered && one_scale(c_) ? 1 : operand_layouts(c_), scattered, "gradient cast");
}

void Casts::again(std::int64_t inputs, std::int64_t weights) {
  if (!narrow_) return;
  if (!keeps_weight_casts(c_)) turn_or_cast(weights, 1);
  if (!keeps_casts(c_) && !c_.strategy.lora) write(cast_chain(c_, inputs, 1), "input cast");
}

void Casts::gathered(std::int64_t elements, std::string_view what) {
  if (!narrow_ || !one_scale(c_) || operand_layouts(c_) == 1) return;
  turn(elements, what);
}

}  // namespace plan
