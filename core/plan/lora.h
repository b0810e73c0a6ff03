// core/plan/lora.h -- low-rank adapters (Hu et al., arXiv 2106.09685) beside frozen linear layers: y = x W + (x A) B.
// W has no gradient and no optimizer state; A [in, rank] and B [rank, out] are trained. Over tensor-parallel ranks A's
// columns are cut beside a column-parallel W (its result gathered) and A's rows beside a row-parallel one (its result
// reduced); B's columns are cut beside both, as in NeMo (2025). Beside experts both are grouped matmuls, cut over
// expert tensor parallelism the same way. Where a framework has several linears for one matrix, each has a pair, as in
// Hugging Face's PEFT: q, k and v, gate and up. A base below the storage format (QLoRA, arXiv 2305.14314) is written
// out in it before each matmul. Which layers have adapters: adapters.h. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/tensor_parallel.h"

namespace plan {

/// Adds the adapter's share to W's output.
void adapter_forward(const Context&, SegmentBuilder&, const Linear&, Side);
/// Gradients of A, B and the adapter's share of the input gradient, before that is reduced.
void adapter_backward(const Context&, SegmentBuilder&, const Linear&, Side);

/// W written out in the storage format, where the base is kept in fewer bits, for as long as this lives.
class ExpandedBase {
 public:
  ExpandedBase(const Context&, SegmentBuilder&, const Linear&);
  ~ExpandedBase();
  ExpandedBase(const ExpandedBase&) = delete;
  ExpandedBase& operator=(const ExpandedBase&) = delete;

 private:
  SegmentBuilder& out_;
  std::int64_t bytes_ = 0;
};

}  // namespace plan
