// core/plan/lora.h -- low-rank adapters (Hu et al., arXiv 2106.09685) beside frozen linear layers: y = x W + (x A) B.
// W has no gradient and no optimizer state; A [in, rank] and B [rank, out] are trained. Over tensor-parallel ranks A's
// columns are cut beside a column-parallel W (its result gathered) and A's rows beside a row-parallel one (its result
// reduced); B's columns are cut beside both, as in NeMo (2025). A base below 16 bits (QLoRA, arXiv 2305.14314) is
// written out in bf16 before each matmul. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/builder.h"
#include "core/plan/context.h"

namespace plan {

struct Linear;

/// Which side of a pair of linear layers W is, as tensor parallelism cuts it.
enum class Side : std::uint8_t { column, row };

/// Whether W has an adapter.
bool adapted(const Context&, const Linear&);
/// Trained parameters of one dense layer on one rank.
std::int64_t adapter_parameters(const Context&);
/// Bytes that the frozen parameters of a dense layer, or of an end of the model (always bf16), take.
std::int64_t frozen_bytes(const Context&, std::int64_t layers, std::int64_t ends);

/// Adds the adapter's share to W's output.
void adapter_forward(const Context&, SegmentBuilder&, const Linear&, Side);
/// Gradients of A, B and the adapter's share of the input gradient, before that is reduced.
void adapter_backward(const Context&, SegmentBuilder&, const Linear&, Side);
/// Writes W out in bf16 where the base is kept in fewer bits.
void expand_base(const Context&, SegmentBuilder&, const Linear&);

}  // namespace plan
