// sim/search/draft_memory.cpp -- a draft's memory: what each stage holds at its fullest moment.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/plan/muon.h"
#include "sim/memory/footprint.h"
#include "sim/search/two_level.h"

namespace sim {
namespace {

using plan::Category;
using plan::Pass;

const PassMemory& of_pass(const ChunkMemory& chunk, Pass pass) {
  if (pass == Pass::forward) return chunk.forward;
  return pass == Pass::weight_gradient ? chunk.weights : chunk.backward;
}

void add_rise(Rise& to, const Rise& more, std::int64_t times) {
  to.moving += more.moving * times;
  to.communication += more.communication * times;
  to.other += more.other * times;
}

}  // namespace

const ChunkMemory& Draft::memory_of(int kind, bool least) {
  ChunkKind& chunk = chunk_kinds_[kind];
  std::optional<ChunkMemory>& out = least ? chunk.least_memory : chunk.memory;
  if (!out) {
    const ChunkOfStage at{chunk.stage, chunks_[chunk.stage], chunk.index};
    out = least ? least_book_.memory(least_c_, at) : book_.memory(c_, at);
  }
  return *out;
}

std::int64_t Draft::footprint_of(const StageKind& kind, const Rise& rise, std::int64_t pool) const {
  MemoryPeak peak;
  peak.bytes = kind.resident;
  peak.bytes[static_cast<int>(Category::activations)] += rise.moving;
  peak.bytes[static_cast<int>(Category::communication)] += rise.communication;
  peak.bytes[static_cast<int>(Category::gradients)] += rise.other;
  return footprint(peak, cut_, job_, pool).total() + kind.shards;
}

/// `least`: of what zero 2 and 3 hold, too, without what they gather.
std::int64_t Draft::peak_of(int stage, bool least) {
  StageKind& kind = kinds_[kind_of_[stage]];
  const auto memory = [&](std::size_t v) -> const ChunkMemory& { return memory_of(kind.chunk_kinds[v], least); };
  const ByteWeights weights = weights_of(job_.framework);
  Rise most;
  const bool works = job_.framework.optimizer_workspace > 0 || plan::by_muon(c_);
  if (works && !least) most.moving = ends_of(kind).workspace;
  Rise heaviest = most;
  for (const Fullness& moment : shape_->fullest[stage]) {
    const PassMemory& pass = of_pass(memory(moment.chunk), moment.pass);
    const auto level_of = [&](Rise level) {
      for (std::size_t v = 0; v < moment.forwards.size(); ++v) {
        add_rise(level, memory(v).forward.net, moment.forwards[v] + moment.gradients[v]);
        add_rise(level, memory(v).backward.net, moment.gradients[v]);
        const bool has_begun = moment.forwards[v] + moment.gradients[v] > 0 || static_cast<int>(v) == moment.chunk;
        if (has_begun) level.other += memory(v).kept;
      }
      if (least) level.communication = level.other = 0;
      level.other += kind.sums - kind.fresh;
      return level;
    };
    if (const Rise level = level_of(pass.highest); level.total() > most.total()) most = level;
    if (const Rise level = level_of(pass.heaviest); level.weight(weights) > heaviest.weight(weights)) heaviest = level;
  }
  std::int64_t pool = 0;
  for (std::size_t v = 0; v < kind.chunk_kinds.size() && !least; ++v) pool = std::max(pool, memory(v).gather_pool);
  return std::max(footprint_of(kind, most, pool), footprint_of(kind, heaviest, pool));
}

std::optional<std::int64_t> Draft::peak_within(std::int64_t capacity) {
  for (const StageKind& kind : kinds_) {
    if (footprint_of(kind, {}, 0) > capacity) return {};
  }
  std::int64_t most = 0;
  for (const bool least : {true, false}) {
    if (least && !c_.scatters_gradients) continue;
    most = 0;
    for (int stage = 0; stage < c_.pp; ++stage) {
      if (stage > 0 && kind_of_[stage] == kind_of_[stage - 1] && shape_->like_before[stage]) continue;
      most = std::max(most, peak_of(stage, least));
      if (most > capacity) return {};
    }
  }
  return most;
}

}  // namespace sim
