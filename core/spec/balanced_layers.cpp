// core/spec/balanced_layers.cpp -- pipelines whose layers are split by cost, or spread (declared in job.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/spec/job.h"

namespace spec {

std::vector<int> balanced_layers(const Model& model, int stages) {
  const auto hidden = static_cast<double>(model.hidden);
  const double layer =
      hidden * static_cast<double>(2 * model.q_width() + 2 * model.kv_width() + model.up_width() + model.ffn);
  const double head = hidden * static_cast<double>(model.vocab);
  // What the last stage takes decides the rest, which is shared evenly, the first stages taking what is left over.
  int best_last = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int last = 0; last <= model.layers; ++last) {
    const int rest = model.layers - last;
    const int most = (rest + stages - 2) / (stages - 1);
    const double worst = std::max(most * layer, last * layer + head);
    if (worst >= least || rest < stages - 1) continue;
    least = worst;
    best_last = last;
  }
  std::vector<int> out(stages, 0);
  const int rest = model.layers - best_last;
  for (int stage = 0; stage + 1 < stages; ++stage) {
    out[stage] = rest / (stages - 1) + (stage < rest % (stages - 1) ? 1 : 0);
  }
  out.back() = best_last;
  return out;
}

std::vector<int> spread_layers(const Model& model, std::int64_t chunks) {
  const std::int64_t units = model.layers + std::int64_t{2};
  if (chunks < 2 || chunks > units) return {};
  std::vector<int> out;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    out.push_back(static_cast<int>(units / chunks) + (chunk < units % chunks ? 1 : 0));
  }
  out.front() -= 1;
  out.back() -= 1;
  return out;
}

}  // namespace spec
