// SPDX-License-Identifier: Apache-2.0
#include "sim/search/strategies.h"

#include <algorithm>
#include <utility>

#include "sim/search/usual_values.h"

namespace sim {
namespace {

using spec::SearchKey;
using spec::SearchPoint;
using spec::SearchValue;

std::vector<SearchValue> values_of(SearchKey key, const spec::Job& job, const spec::SearchSpace& space) {
  if (space[key]) return *space[key];
  std::vector<SearchValue> out = usual_values(key, job);
  const std::optional<SearchValue> given = space.of_file[static_cast<std::size_t>(key)];
  if (given && has_effect(key, job) && std::ranges::find(out, *given) == out.end()) out.push_back(*given);
  return out;
}

/// Whether the degrees chosen so far still divide the GPUs and the batch; spec::check() says so with words, later.
bool divides(SearchKey key, const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  const std::int64_t gpus = job.cluster.gpus();
  switch (key) {
    case SearchKey::tp: return gpus % s.tp == 0 && job.model.heads % s.tp == 0;
    case SearchKey::cp: return gpus % (std::int64_t{s.tp} * s.cp) == 0;
    case SearchKey::micro_batch: return job.training.global_batch % job.training.micro_batch == 0;
    case SearchKey::pp: return gpus % (std::int64_t{s.tp} * s.cp * s.pp) == 0;
    case SearchKey::dp:
      return std::int64_t{s.tp} * s.cp * s.pp * s.data() == gpus &&
             job.training.global_batch % (job.training.micro_batch * s.data()) == 0;
    case SearchKey::vpp: return !s.traits().takes_vpp || (s.vpp > 1 && spec::microbatches(job) % s.pp == 0);
    case SearchKey::stage_layers: return !spec::split_layers(job.model, s).empty() || spec::cuts_by_itself(job);
    default: return true;
  }
}

void choose_layers(int depth, spec::Job& job, const spec::SearchSpace& space, SearchPoint& point,
                   const std::function<void(const SearchPoint&)>& each) {
  if (depth == kLayerKeys) return each(point);
  const SearchKey key = kChoosingOrder[static_cast<std::size_t>(depth)];
  for (const SearchValue value : values_of(key, job, space)) {
    spec::set_value(key, value, job);
    point[key] = value;
    if (divides(key, job)) choose_layers(depth + 1, job, space, point, each);
  }
}

}  // namespace

void each_layer_choice(const spec::Job& base, const spec::SearchSpace& space,
                       const std::function<void(const SearchPoint&)>& each) {
  spec::Job job = base;
  SearchPoint point;
  choose_layers(0, job, space, point, each);
}

JobMaker::JobMaker(const spec::Job& base, const spec::SearchSpace& space)
    : base_(base), space_(space), open_(base), stated_(spec::stated_parts(base)), resolved_(base) {
  const auto& layers = space[SearchKey::stage_layers];
  if (layers && layers->front() == spec::kListedLayers) listed_ = base.strategy.stage_layers;
}

void JobMaker::each_with(const SearchPoint& layers,
                         const std::function<void(const SearchPoint&, const spec::Job&)>& each) {
  SearchPoint point = layers;
  open_.strategy = base_.strategy;
  open_.strategy.stage_layers = listed_;
  for (int k = 0; k < kLayerKeys; ++k) spec::set_value(kChoosingOrder[k], layers[kChoosingOrder[k]], open_);
  choose(kLayerKeys, point, each);
}

void JobMaker::choose(int depth, SearchPoint& point,
                      const std::function<void(const SearchPoint&, const spec::Job&)>& each) {
  if (depth == spec::kSearchKeys) {
    if (!spec::check(open_).empty()) {
      ++refused_;
      return;
    }
    restore(point);
    return each(point, resolved_);
  }
  const SearchKey key = kChoosingOrder[static_cast<std::size_t>(depth)];
  for (const SearchValue value : values_of(key, open_, space_)) {
    spec::set_value(key, value, open_);
    point[key] = value;
    const bool is_even = open_.strategy.stage_layers.empty() && key == SearchKey::stage_layers;
    if (is_even && value != spec::kEvenLayers) continue;  // no such cut
    if (divides(key, open_)) choose(depth + 1, point, each);
  }
  if (key == SearchKey::stage_layers) open_.strategy.stage_layers = listed_;  // another vpp has another cut
}

/// Leaves in resolved_ what resolve() makes of the point. Only what it may have changed is copied again.
void JobMaker::restore(const SearchPoint& point) {
  spec::restore(stated_, resolved_);
  for (int k = 0; k < spec::kSearchKeys; ++k)
    spec::set_value(static_cast<SearchKey>(k), point[static_cast<SearchKey>(k)], resolved_);
  resolved_ = spec::resolve(std::move(resolved_));
}

const spec::Job& JobMaker::job_of(const SearchPoint& point) {
  restore(point);
  return resolved_;
}

}  // namespace sim
