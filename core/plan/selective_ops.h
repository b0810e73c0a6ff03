// core/plan/selective_ops.h -- torchtitan's selective activation checkpointing by operator ("op"): of the matmuls of a
// block the results of the first, third, fifth... are kept, with those of fused attention, reduce-scatters and
// all-to-alls; everything else is computed again before the backward, up to the input of the last matmul. A router's
// matmul is not counted and always computed again; so are the experts' own, which are of another kind.
// Source: torchtitan/distributed/activation_checkpoint.py and its lists of operators to save in
// torchtitan/models/*/parallelize.py (2025): aten.mm but every second, not aten._grouped_mm, all_to_all_single;
// per_op_sac_force_recompute_mm_shapes_by_fqns is moe.router.gate by default. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan/context.h"

namespace plan {

/// Of the whole model: y[tokens, out] = x[tokens, in] w[in, out].
struct CountedMatmul {
  std::string_view name;
  std::int64_t in = 0, out = 0;
  bool kept = false;
};

/// In the order of Llama's and DeepSeek-V3's code: query, key, value, or the latent projections down and up, queries
/// first; output; gate (if gated), up, down of the feed-forward, or of the shared experts (2025).
std::vector<CountedMatmul> counted_matmuls(const spec::Model&, bool experts);

/// Which of them a layer keeps.
class KeptMatmuls {
 public:
  KeptMatmuls(const Context& c, bool experts) : counted_(counted_matmuls(c.model, experts)) {}
  /// REQUIRES: there is one of that name.
  bool operator()(std::string_view name) const;

 private:
  std::vector<CountedMatmul> counted_;
};

}  // namespace plan
