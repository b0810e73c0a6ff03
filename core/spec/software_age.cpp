// SPDX-License-Identifier: Apache-2.0
#include "core/spec/software_age.h"

#include <algorithm>

#include "core/spec/generation.h"

namespace spec {

int model_year(const Model& m) {
  const bool of_2025 = m.attention_sinks || m.attention_chunk > 0 || m.full_every > 0 || m.nope_every > 0 ||
                       m.mtp > 0 || m.recurrent || m.attention_gate || (m.qk_norm && m.qk_scale != QkScale::width) ||
                       (m.moe && m.moe->router_bias);
  if (of_2025) return 2025;
  return m.kv_heads < m.heads || m.moe || m.mla || m.window > 0 || m.qk_norm ? 2024 : 0;
}

int software_year(const Job& job) {
  return std::max(model_year(job.model), traits_of(job.cluster.node.gpu.generation).software_of_2025 ? 2025 : 0);
}

}  // namespace spec
