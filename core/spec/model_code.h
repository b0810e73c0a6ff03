// core/spec/model_code.h -- whose code a model is, as far as its shape tells.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/job.h"

namespace spec {

/// Qwen3's way: a norm with weights over each head of queries and keys (Llama 4 scales none, OLMo 2 the whole width).
inline bool norms_heads(const Model& m) { return m.qk_norm && m.qk_scale == QkScale::head; }

/// Whether a framework whose models turn queries and keys as complex numbers does so here: not in Qwen3's code, which
/// turns halves of real ones; latent attention, whose rotary part is a third, is priced as before.
inline bool rotates_complex(const Job& job) {
  return job.framework.complex_rope && !norms_heads(job.model) && !job.model.mla;
}

}  // namespace spec
