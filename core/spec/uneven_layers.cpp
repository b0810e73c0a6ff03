// core/spec/uneven_layers.cpp -- the cuts that a search tries: layers move from the busiest stage to the least busy
// one. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

#include "core/spec/layer_cuts.h"
#include "core/spec/parameters.h"

namespace spec {
namespace {

/// Weights that a token meets in a layer with and in one without experts, and in the head.
struct Work {
  explicit Work(const Model& model) : moe(model.moe) {
    const double head = static_cast<double>(model.hidden) * static_cast<double>(model.vocab);
    weigh_layers(model);
    end = head + model.mtp * (of_layer(model.layers - 1) + head);
  }
  void weigh_layers(const Model& model) {
    if (!moe && !model.mla) {
      plain = static_cast<double>(block_parameters(model).matmuls());
      return;
    }
    const Parameters all = parameters(model);
    int with = 0;
    for (int i = 0; i < model.layers; ++i) with += moe && moe->in_layer(i);
    const double attention = share(all.attention, model.layers);
    plain = attention + share(all.feed_forward, model.layers - with);
    if (with > 0) {
      experts = attention + share(all.router + all.shared_experts, with) +
                share(all.experts, with) * moe->top_k / moe->experts;
    }
  }
  static double share(std::int64_t all, int layers) { return layers == 0 ? 0 : static_cast<double>(all) / layers; }
  double of_layer(int layer) const { return moe && moe->in_layer(layer) ? experts : plain; }

  std::optional<Moe> moe;
  double plain = 0, experts = 0, end = 0;
};

/// Moves layers from and to stages whose chunks hold equally many at first.
class Cutter {
 public:
  Cutter(const Model& model, const Strategy& s)
      : s_(s), work_(model), chunks_(s.model_chunks()), counts_(chunks_, (model.layers + chunks_ - 1) / chunks_) {}

  const std::vector<int>& counts() const { return counts_; }
  int layers() const { return std::accumulate(counts_.begin(), counts_.end(), 0); }

  /// False: no stage, or not this one, has a layer to spare.
  bool lighten(int stage) {
    const int from = stage < 0 ? -1 : spare_of(stage);
    if (from >= 0) --counts_[from];
    return from >= 0;
  }

  /// Of the stages that have a layer to spare; -1: none has.
  int busiest() const {
    const std::vector<double> work = work_of_stages();
    int out = -1;
    for (int stage = 0; stage < s_.pp; ++stage) {
      if (spare_of(stage) >= 0 && (out < 0 || work[stage] > work[out] * kMore)) out = stage;
    }
    return out;
  }

  /// Moves a layer from the busiest stage to the least busy one. False: no stage would do less than the busiest does.
  bool even_out() {
    const std::vector<double> work = work_of_stages();
    const std::vector<int> before = counts_;
    const double most = *std::max_element(work.begin(), work.end());
    const auto least = std::min_element(work.rbegin(), work.rend());  // the last of equals holds fewest microbatches
    if (!lighten(busiest())) return false;
    burden(static_cast<int>(work.rend() - least) - 1);
    const std::vector<double> after = work_of_stages();
    if (*std::max_element(after.begin(), after.end()) * kMore < most) return true;
    counts_ = before;
    return false;
  }

 private:
  static constexpr double kMore = 1 + 1e-9;

  int stage_of(int at) const { return s_.schedule == Schedule::zb_v && at >= s_.pp ? chunks_ - 1 - at : at % s_.pp; }

  /// Its longest chunk, the last among equals; -1: none can do with less.
  int spare_of(int stage) const {
    int out = -1;
    for (int at = 0; at < chunks_; ++at) {
      const int least = at == 0 || at + 1 == chunks_ ? 0 : 1;
      if (stage_of(at) == stage && counts_[at] > least && (out < 0 || counts_[at] >= counts_[out])) out = at;
    }
    return out;
  }

  void burden(int stage) {
    int to = -1;
    for (int at = 0; at < chunks_; ++at) {
      if (stage_of(at) == stage && (to < 0 || counts_[at] < counts_[to])) to = at;
    }
    ++counts_[to];
  }

  std::vector<double> work_of_stages() const {
    std::vector<double> out(s_.pp, 0);
    int layer = 0;
    for (int at = 0; at < chunks_; ++at) {
      for (int i = 0; i < counts_[at]; ++i) out[stage_of(at)] += work_.of_layer(layer++);
    }
    out[stage_of(chunks_ - 1)] += work_.end;
    return out;
  }

  const Strategy& s_;
  const Work work_;
  const int chunks_;
  std::vector<int> counts_;
};

}  // namespace

std::vector<int> uneven_layers(const Model& model, const Strategy& s, LayerCut cut) {
  if (model.is_list() || s.model_chunks() > model.layers) return {};
  Cutter cutter(model, s);
  for (int i = 0; cutter.layers() > model.layers; ++i) {
    if (!cutter.lighten(cut == LayerCut::by_work ? cutter.busiest() : i % s.pp)) return {};
  }
  while (cut == LayerCut::by_work && cutter.even_out()) {
  }
  const std::vector<int>& counts = cutter.counts();
  const bool even = *std::min_element(counts.begin(), counts.end()) == *std::max_element(counts.begin(), counts.end());
  return even ? std::vector<int>() : counts;
}

}  // namespace spec
