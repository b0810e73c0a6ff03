// SPDX-License-Identifier: Apache-2.0
#include "sim/search/more_nodes.h"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/base/parallel.h"
#include "sim/predict.h"
#include "sim/search/strategies.h"
#include "sim/search/two_level.h"

namespace sim {
namespace {

constexpr int kMostTimes = 64;

/// Two levels only rule out: the operator level, which also sees the host's memory, has the last word.
bool fits(const spec::Job& job, Books& books, PriceList& prices) {
  if (has_two_levels(job)) {
    const auto capacity = static_cast<std::int64_t>(job.cluster.node.gpu.memory.si());
    const auto bytes = Draft(job, books, prices).peak_within(capacity);
    if (!bytes || *bytes > capacity) return false;
  }
  return outline(job).fits;
}

/// Without what only ever takes more memory: larger microbatches and less recomputation.
spec::SearchSpace lean(const spec::Job& base, spec::SearchSpace space) {
  if (auto& sizes = space[spec::SearchKey::micro_batch]; !sizes) {
    sizes = {1};
  } else {
    sizes = {std::ranges::min(*sizes)};
  }
  if (auto& kinds = space[spec::SearchKey::recompute]; !kinds && !base.training.serves() && !base.model.is_list()) {
    kinds = {spec::value_of(spec::Recompute{spec::Recompute::Kind::full})};
  }
  return space;
}

}  // namespace

bool anything_fits(const spec::Job& base, const spec::SearchSpace& space, unsigned threads,
                   const std::atomic<bool>* stop) {
  std::vector<spec::SearchPoint> layers;
  each_layer_choice(base, space, [&](const spec::SearchPoint& point) { layers.push_back(point); });
  // Memory falls with degrees, which the choices of layers begin with: the last of them fit sooner.
  std::ranges::reverse(layers);
  Books books;
  std::atomic<bool> found{false};
  std::atomic<std::size_t> next{0};
  const auto over = [&] { return found || (stop != nullptr && stop->load(std::memory_order_relaxed)); };
  base::parallel_for(
      threads,
      [&](std::size_t) {
        JobMaker jobs(base, space);
        PriceList prices(base.cluster, base.network);
        for (std::size_t i; !over() && (i = next++) < layers.size();) {
          jobs.each_with(layers[i], [&](const spec::SearchPoint&, const spec::Job& job) {
            if (!over() && fits(job, books, prices)) found = true;
          });
        }
      },
      threads);
  return found;
}

std::optional<int> nodes_that_fit(const spec::Job& base, const spec::SearchSpace& space, unsigned threads,
                                  const std::atomic<bool>* stop) {
  if (base.cluster.mixed()) return {};
  const spec::SearchSpace leanest = lean(base, space);
  const auto fit_on = [&](int nodes) {
    spec::Job wider = base;
    wider.cluster.nodes = nodes;
    return anything_fits(wider, leanest, threads, stop);
  };
  int few = base.cluster.nodes, enough = 2 * few;
  while (enough <= kMostTimes * base.cluster.nodes && !fit_on(enough)) {
    few = enough;
    enough *= 2;
  }
  if (enough > kMostTimes * base.cluster.nodes) return {};
  while (enough - few > 1) {
    const int between = few + (enough - few) / 2;
    (fit_on(between) ? enough : few) = between;
  }
  if (stop != nullptr && *stop) return {};
  return enough;
}

}  // namespace sim
