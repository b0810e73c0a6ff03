// SPDX-License-Identifier: Apache-2.0
#include "core/spec/layer_cuts.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "core/spec/job.h"
#include "core/spec/placement.h"
#include "core/spec/weights_met.h"

namespace spec {
namespace {

/// The entry of each chunk in model order; a list of pp entries with vpp chunks shares each entry evenly.
std::vector<int> listed(const Strategy& s) {
  const std::vector<int>& given = s.stage_layers;
  const std::size_t stages = s.pp, chunks = s.model_chunks();
  if (given.size() == chunks) return given;
  std::vector<int> counts;
  if (given.size() != stages) return counts;
  const Placement placement(s);
  for (std::size_t at = 0; at < chunks; ++at) {
    const int stage = placement.stage_of(static_cast<int>(at), 0);
    if (given[stage] % s.chunks_a_stage() != 0) return {};
    counts.push_back(given[stage] / s.chunks_a_stage());
  }
  return counts;
}

/// Even shares. With embedding_in_split the embedding and the head stand for one layer each (layers + 2), or, where
/// only that divides, the head alone does (layers + 1): it costs a block's time, the embedding next to none.
std::vector<int> even(int layers, const Strategy& s) {
  const std::int64_t chunks = s.model_chunks();
  if (chunks > layers + std::int64_t{2}) return {};
  const int extra = !s.embedding_in_split || chunks == 1 ? 0 : (layers + 2) % chunks == 0 ? 2 : 1;
  if ((layers + extra) % chunks != 0) return {};
  std::vector<int> counts(chunks, static_cast<int>((layers + extra) / chunks));
  if (extra >= 1) counts.back() -= 1;
  if (extra == 2) counts.front() -= 1;
  return counts;
}

}  // namespace

std::vector<ChunkLayers> split_layers(const Model& model, const Strategy& s) {
  const std::vector<int> counts = s.stage_layers.empty() ? even(model.layers, s) : listed(s);
  if (counts.empty() || std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) != model.layers) return {};
  std::vector<ChunkLayers> chunks;
  int first = 0;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    const bool ends =
        at == 0 || at + 1 == counts.size();  // these hold the embedding or the head, and may hold no layer
    if (counts[at] < 0 || (counts[at] == 0 && !ends)) return {};
    chunks.push_back({first, counts[at]});
    first += counts[at];
  }
  return chunks;
}

std::vector<int> balanced_layers(const Model& model, int stages) {
  const auto hidden = static_cast<double>(model.hidden);
  double all = 0;
  for (int layer = 0; layer < model.layers; ++layer) all += weights_met(model, model.parts_in(layer));
  const double layer = all / model.layers;
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

bool cuts_by_itself(const Job& job) {
  const Strategy& s = job.strategy;
  const bool cuts = job.framework.balances_stages || job.framework.spreads_stages;
  return cuts && s.pp > 1 && !s.spreads_vocab() && s.model_chunks() <= job.model.layers;
}

std::vector<int> own_cut(const Job& job) {
  const Strategy& s = job.strategy;
  if (!s.stage_layers.empty() || !cuts_by_itself(job)) return {};
  const bool by_cost = cuts_by_cost(job);
  const bool evenly = !by_cost && (s.embedding_in_split || !job.framework.spreads_stages);
  if (evenly && !shares_choices(job.model) && !split_layers(job.model, s).empty()) return {};
  return cut_at_choices(job.model,
                        by_cost ? balanced_layers(job.model, s.pp) : spread_layers(job.model, s.model_chunks()));
}

bool cuts_by_cost(const Job& job) {
  const Strategy& s = job.strategy;
  return !job.framework.spreads_stages && s.vpp == 1 && !s.embedding_in_split;
}

bool shares_choices(const Model& model) { return model.indexer && model.indexer->shares(); }

std::vector<int> cut_at_choices(const Model& model, const std::vector<int>& counts) {
  if (!shares_choices(model) || counts.size() < 2) return counts;
  std::vector<int> begins;  // where a chunk may
  for (int layer = 0; layer < model.layers; ++layer) {
    if (model.parts_in(layer).indexes) begins.push_back(layer);
  }
  const bool front = counts.front() > 0, back = counts.back() > 0;  // which may hold none
  const std::size_t cuts = counts.size() - 1 - (back ? 0 : 1);      // between chunks that hold layers
  std::vector<int> out;
  std::size_t from = front ? 1 : 0;
  int wished = 0, last = 0;
  for (std::size_t cut = 0; cut < cuts; ++cut) {
    wished += counts[cut];
    if (from + (cuts - cut) > begins.size()) return {};
    const std::size_t most = begins.size() - (cuts - cut);  // the rest need one each
    std::size_t best = from;
    for (std::size_t at = from; at <= most; ++at) {
      if (std::abs(begins[at] - wished) < std::abs(begins[best] - wished)) best = at;
    }
    out.push_back(begins[best] - last);
    last = begins[best];
    from = best + 1;
  }
  out.push_back(model.layers - last);
  if (!back) out.push_back(0);
  return out;
}

}  // namespace spec
