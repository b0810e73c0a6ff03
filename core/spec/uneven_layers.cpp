// SPDX-License-Identifier: Apache-2.0
#include "core/spec/uneven_layers.h"

#include <cstddef>
#include <cstdint>

#include "core/spec/parameters.h"

namespace spec {
namespace {

/// Weights that a token meets in a layer with and in one without experts, and in the head.
struct Work {
  explicit Work(const Model& model) : moe(model.moe) {
    const Parameters all = parameters(model);
    int with = 0;
    for (int i = 0; i < model.layers; ++i) with += moe && moe->in_layer(i);
    const double attention = share(all.attention, model.layers);
    plain = attention + share(all.feed_forward, model.layers - with);
    if (with > 0) {
      experts = attention + share(all.router + all.shared_experts, with) +
                share(all.experts, with) * moe->top_k / moe->experts;
    }
    const double head = static_cast<double>(model.hidden) * static_cast<double>(model.vocab);
    end = head + model.mtp * (of_layer(model.layers - 1) + head);
  }
  static double share(std::int64_t all, int layers) { return layers == 0 ? 0 : static_cast<double>(all) / layers; }
  double of_layer(int layer) const { return moe && moe->in_layer(layer) ? experts : plain; }

  std::optional<Moe> moe;
  double plain = 0, experts = 0, end = 0;
};

/// Takes layers away from chunks that hold equally many at first.
class Cutter {
 public:
  Cutter(const Model& model, const Strategy& s)
      : s_(s), work_(model), chunks_(s.model_chunks()), counts_(chunks_, (model.layers + chunks_ - 1) / chunks_) {}

  /// False: the stage has no layer to spare.
  bool lighten(int stage) {
    int from = -1;
    for (int at = 0; at < chunks_; ++at) {
      const bool at_end = at == 0 || at + 1 == chunks_;
      if (stage_of(at) != stage || counts_[at] <= (at_end ? 0 : 1)) continue;
      if (from < 0 || counts_[at] >= counts_[from]) from = at;
    }
    if (from >= 0) --counts_[from];
    return from >= 0;
  }

  int busiest() const {
    std::vector<double> load(s_.pp, 0);
    int layer = 0;
    for (int at = 0; at < chunks_; ++at) {
      for (int i = 0; i < counts_[at]; ++i) load[stage_of(at)] += work_.of_layer(layer++);
    }
    load[stage_of(chunks_ - 1)] += work_.end;
    constexpr double kMore = 1 + 1e-9;
    int out = 0;
    for (int stage = 1; stage < s_.pp; ++stage) {
      if (load[stage] > load[out] * kMore) out = stage;
    }
    return out;
  }

  const std::vector<int>& counts() const { return counts_; }

 private:
  int stage_of(int at) const { return s_.schedule == Schedule::zb_v && at >= s_.pp ? chunks_ - 1 - at : at % s_.pp; }

  const Strategy& s_;
  const Work work_;
  const int chunks_;
  std::vector<int> counts_;
};

}  // namespace

std::vector<int> uneven_layers(const Model& model, const Strategy& s, LayerCut cut) {
  if (model.is_list() || s.model_chunks() > model.layers || model.layers % s.model_chunks() == 0) return {};
  Cutter cutter(model, s);
  const int fewer = s.model_chunks() - model.layers % s.model_chunks();
  for (int i = 0; i < fewer; ++i) {
    if (!cutter.lighten(cut == LayerCut::by_work ? cutter.busiest() : i % s.pp)) return {};
  }
  return cutter.counts();
}

}  // namespace spec
