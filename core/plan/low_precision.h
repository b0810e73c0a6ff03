// core/plan/low_precision.h -- training below 16 bits (fp8, mxfp8, nvfp4): which matmuls run so, and the kernels that
// cast their operands. Activations and gradients stay in bf16 between matmuls; each operand is read once in bf16 (more
// often where a scale of the whole tensor must be known first) and written with its scales in as many layouts as its
// matmuls need: a weight gradient multiplies along the tokens, an input gradient along the outputs. Micikevicius et
// al., arXiv 2209.05433; OCP Microscaling Formats 1.0; recipes as in Transformer Engine and torchao (2025).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/elementwise.h"

namespace plan {

struct Linear;

/// Whether the matmuls of `layer` run below 16 bits; -1, the ends of the model, never do.
bool narrow(const spec::Job&, int layer);
bool narrow(const Context&, int layer);
/// Format of the operands of `layer`'s matmuls.
spec::Dtype matmul_dtype(const Context&, int layer);

/// Format in which the attention of `layer` multiplies, cast in front of it where it is narrow; its output is not.
spec::Dtype attention_dtype(const Context&, int layer);

/// Whether gradients' matmuls in `dtype` keep fp32 sums where the forward leaves them to the tensor cores: 8-bit
/// formats, in Transformer Engine (split accumulator) and torchao (no fast accumulation). What it costs is the GPU's
/// matter.
bool promotes(spec::Dtype dtype);

/// Bytes of one element with its share of the block scales (fp32 for 128 fp8 values, one byte for 32 of mxfp8 or 16 of
/// nvfp4).
double narrow_bytes(const Context&);
/// Layouts that a weight is cast to. One where it serves and on Blackwell with one scale a tensor: its tensor cores
/// take any order.
int weight_layouts(const Context&);
/// Layouts of an activation or a gradient: as weights, but one where frozen weights need no gradient.
int operand_layouts(const Context&);
/// Whether activations are kept in the narrow format and weights are cast once a step: Transformer Engine. Otherwise
/// (torchao) each pass casts anew from 16 bits.
bool keeps_casts(const Context&);
/// Whether a frozen base is kept in fewer bytes than its matmuls read, and written out in front of them.
bool expands_base(const Context&);
/// Whether weights are cast once a step and the narrow copies kept; not beside a frozen base in fewer bits, which is
/// expanded and cast for each use, nor one in fp8 with one scale a tensor, which is turned for each use.
bool keeps_weight_casts(const Context&);
/// Whether the weights of narrow layers exist in the narrow format alone: all that serve do. Shards that are the
/// masters are cast as they are gathered (torchao, enable_fsdp_float8_all_gather; nn.Linear alone, hence no experts): a
/// cast of a rank's share, which is left out as that of other shards to 16 bits is.
bool narrow_alone(const Context&);
bool narrow_experts_alone(const Context&);
/// Whether such weights are gathered as they are, never cast. Those of mxfp8 are not: two layouts of tiled scales have
/// no place in a flat buffer, so they are gathered in 16 bits, into that of the gradients, and cast from there
/// (Megatron Core's --reuse-grad-buf-for-mxfp8-param-ag, 2025).
bool gathers_narrow(const Context&);
/// Whether a step's cast is the last that reads such weights in 16 bits.
inline bool lets_go_when_cast(const Context& c) { return narrow_alone(c) && !gathers_narrow(c); }
/// Bytes of the codes of `weights` such weights; in nvfp4 with the scales, which take an eighth of theirs.
std::int64_t code_bytes(const Context&, std::int64_t weights);
/// Elements of a gathered operand in units of the bytes that the gather moves: under sequence parallel a shard is cast
/// first and gathered narrow. A gradient scaled in blocks travels in both layouts.
double gathered_bytes(const Context&, bool gradient);

/// Casts `elements` numbers to `layouts` layouts. REQUIRES: precision below 16 bits.
Chain cast_chain(const Context&, std::int64_t elements, int layouts);

/// Rowwise, where the framework has no kernel that sums in fp32 and scales rows and columns: the results of `kernels`
/// matmuls, `elements` in all, are scaled behind them. No kernels: nothing is.
Chain rescale_chain(const Context&, std::int64_t elements, int kernels, int layer);

/// The cast in front of an attention in fp8: of queries, keys and values; backward, of the output's gradient. Does
/// nothing where it is not narrow.
void cast_for_attention(const Context&, SegmentBuilder&, bool backward);

/// Writes the casts of one linear layer's operands; each does nothing for layers that are not narrow. `scattered`: the
/// operand is this rank's shard of the sequence, gathered behind the cast.
class Casts {
 public:
  Casts(const Context&, SegmentBuilder&, const Linear&);
  bool narrow_now() const { return narrow_; }
  /// `from_norm`: a norm with delayed scaling writes the narrow format itself.
  void input(std::int64_t elements, bool from_norm, bool scattered);
  void weight(std::int64_t elements);                           // forward: once a step or each time
  void gradient(std::int64_t elements, bool scattered);         // of the output
  void again(std::int64_t inputs, std::int64_t weights);        // backward, where casts are not kept
  void gathered(std::int64_t elements, std::string_view what);  // the other layout of what a gather brought

 private:
  void write(Chain, std::string_view what);
  void turn(std::int64_t elements, std::string_view what);
  void turn_or_cast(std::int64_t weights, int layouts);
  void cast(std::int64_t elements, int layouts, bool scattered, std::string_view what);

  const Context& c_;
  SegmentBuilder& out_;
  std::string_view linear_;
  bool narrow_;
  bool comes_narrow_;  // the weight, as it was gathered
  std::int64_t experts_;
};

}  // namespace plan
