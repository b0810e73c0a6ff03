// core/spec/uneven_layers.cpp -- the cuts that a search tries: layers move from the busiest stage to the least busy
// one. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/spec/job.h"
#include "core/spec/layer_cuts.h"
#include "core/spec/placement.h"
#include "core/spec/rank_order.h"
#include "core/spec/weights_met.h"

namespace spec {
namespace {

/// Weights that a token meets: in the first layers of the model, each number of them up to `most`, those beyond its own
/// like its last; and behind them.
struct Work {
  Work(const Model& model, int most) : up_to(1, 0) {
    for (int layer = 0; layer < most; ++layer) {
      up_to.push_back(up_to.back() + weights_met(model, model.parts_in(std::min(layer, model.layers - 1))));
    }
    const double head = static_cast<double>(model.hidden) * static_cast<double>(model.vocab);
    double module = head;
    for (int i = 0; i < model.module_layers(); ++i) module += weights_met(model, model.module_parts(i));
    end = head + model.mtp * module;
  }

  std::vector<double> up_to;
  double end = 0;
};

/// Moves layers from and to stages whose chunks hold equally many at first.
class Cutter {
 public:
  Cutter(const Model& model, const Strategy& s, std::vector<double> paces)
      : s_(s),
        chunks_(s.model_chunks()),
        counts_(chunks_, (model.layers + chunks_ - 1) / chunks_),
        work_(model, layers()),
        paces_(std::move(paces)) {
    const Placement placement(s);
    for (int at = 0; at < chunks_; ++at) stage_of_.push_back(placement.stage_of(at, 0));
  }

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

  /// Moves a layer from the busiest stage to the one that is least busy with it. False: none would do less than the
  /// busiest does, or others would do more: a move shifts all layers between, and they need not be alike. Ends, for
  /// each move leaves less to do for the first of the stages, busiest first, that do not do as before.
  bool even_out() {
    const std::vector<int> before = counts_;
    const std::vector<double> load = loads();
    const int from = busiest();
    const double most = from < 0 ? 0 : work_of_stages()[from];
    if (!lighten(from)) return false;
    const std::vector<int> lightened = counts_;
    int to = -1;
    double least = most;
    for (int stage = s_.pp - 1; stage >= 0; --stage) {  // the last of equals holds fewest microbatches
      burden(stage);
      const double then = work_of_stages()[stage];
      counts_ = lightened;
      if (then * kMore < least) to = stage, least = then;
    }
    counts_ = before;
    if (to < 0 || to == from) return false;
    counts_ = lightened;
    burden(to);
    if (lower(loads(), load)) return true;
    counts_ = before;
    return false;
  }

 private:
  static constexpr double kMore = 1 + 1e-9;

  /// What stages do, the busiest first.
  std::vector<double> loads() const {
    std::vector<double> out = work_of_stages();
    std::sort(out.begin(), out.end(), std::greater<>());
    return out;
  }

  /// Whether the first that differ do less in `now`.
  static bool lower(const std::vector<double>& now, const std::vector<double>& before) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] * kMore < before[i]) return true;
      if (before[i] * kMore < now[i]) return false;
    }
    return false;
  }

  /// Its longest chunk, the last among equals; -1: none can do with less.
  int spare_of(int stage) const {
    int out = -1;
    for (int at = 0; at < chunks_; ++at) {
      const int least = at == 0 || at + 1 == chunks_ ? 0 : 1;
      if (stage_of_[at] == stage && counts_[at] > least && (out < 0 || counts_[at] >= counts_[out])) out = at;
    }
    return out;
  }

  void burden(int stage) {
    int to = -1;
    for (int at = 0; at < chunks_; ++at) {
      if (stage_of_[at] == stage && (to < 0 || counts_[at] < counts_[to])) to = at;
    }
    ++counts_[to];
  }

  std::vector<double> work_of_stages() const {
    std::vector<double> out(s_.pp, 0);
    int first = 0;
    for (int at = 0; at < chunks_; ++at) {
      const int next = first + counts_[at];
      out[stage_of_[at]] += work_.up_to[next] - work_.up_to[first];
      first = next;
    }
    out[stage_of_.back()] += work_.end;
    for (std::size_t stage = 0; stage < paces_.size(); ++stage) out[stage] /= paces_[stage];
    return out;
  }

  const Strategy& s_;
  const int chunks_;
  std::vector<int> counts_;
  const Work work_;
  std::vector<double> paces_;
  std::vector<int> stage_of_;  // of each chunk
};

double peak_for(const Training& t, const Gpu& gpu) {
  const double narrow = gpu.peak_of(t.precision).si();
  return narrow > 0 ? narrow : gpu.peak_of(Dtype::bf16).si();
}

/// Ranks fill the groups of a mixed cluster in their order: stages one behind the other where pp is the slowest axis.
std::vector<double> paces_of(const Job& job) {
  const auto order = parse_rank_order(job.strategy.rank_order);
  const std::int64_t stages = job.strategy.pp, gpus = job.cluster.gpus();
  if (!job.cluster.mixed() || !order || order->pp != 4 || gpus % stages != 0) return {};
  std::vector<double> out(static_cast<std::size_t>(stages), std::numeric_limits<double>::infinity());
  std::int64_t begin = 0;
  for (const NodeGroup& group : job.cluster.groups) {
    const std::int64_t end = begin + std::int64_t{group.nodes} * group.node.gpus, each = gpus / stages;
    const double pace = group.pace > 0 ? group.pace : peak_for(job.training, group.node.gpu);
    for (std::int64_t s = begin / each; s * each < end; ++s) {
      double& slowest = out[static_cast<std::size_t>(s)];
      slowest = std::min(slowest, pace);
    }
    begin = end;
  }
  const bool told = std::all_of(out.begin(), out.end(), [](double pace) { return pace > 0 && std::isfinite(pace); });
  return told ? out : std::vector<double>();
}

}  // namespace

std::vector<int> uneven_layers(const Model& model, const Strategy& s, LayerCut cut, std::vector<double> paces) {
  if (model.is_list() || s.model_chunks() > model.layers) return {};
  Cutter cutter(model, s, std::move(paces));
  for (int i = 0; cutter.layers() > model.layers; ++i) {
    if (!cutter.lighten(cut == LayerCut::by_work ? cutter.busiest() : i % s.pp)) return {};
  }
  while (cut == LayerCut::by_work && cutter.even_out()) {
  }
  std::vector<int> counts = cut_at_choices(model, cutter.counts());
  if (counts.empty()) return {};
  const bool even = *std::min_element(counts.begin(), counts.end()) == *std::max_element(counts.begin(), counts.end());
  return even ? std::vector<int>() : counts;
}

std::vector<int> cut_of(const Job& job, LayerCut cut) {
  return uneven_layers(job.model, job.strategy, cut, cut == LayerCut::by_work ? paces_of(job) : std::vector<double>());
}

}  // namespace spec
