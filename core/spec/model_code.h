// core/spec/model_code.h -- whose code a model is, as far as its shape tells.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/job.h"
#include "core/spec/software_age.h"

namespace spec {

/// Qwen3's way: a norm with weights over each head of queries and keys (Llama 4 scales none, OLMo 2 the whole width).
inline bool norms_heads(const Model& m) { return m.qk_norm && m.qk_scale == QkScale::head; }

/// Whether a framework whose models turn queries and keys as complex numbers does so here: not in Qwen3's code, which
/// turns halves of real ones; latent attention, whose rotary part is a third, is priced as before.
inline bool rotates_complex(const Job& job) {
  return job.framework.complex_rope && !norms_heads(job.model) && !job.model.mla;
}

/// Whether software of 2025 compiles or fuses the loss unasked. A Job that says that its loss is no one kernel means
/// that it has fp32 tensors.
inline bool has_loss_of_2025(const Job& job) {
  const bool unfused = job.stated && job.stated->strategy.fused_kernels.cross_entropy == false;
  return job.framework.compiles_loss_of_2025 && software_year(job) >= 2025 && !unfused;
}

}  // namespace spec
