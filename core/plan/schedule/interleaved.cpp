// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/plan/schedule/schedule.h"

namespace plan {
namespace {

/// The order of one direction: groups of `stages` microbatches, each group through every chunk.
std::vector<Slot> one_way(const Pipeline& p, bool backward) {
  std::vector<Slot> out;
  out.reserve(static_cast<std::size_t>(p.microbatches) * p.chunks);
  for (int group = 0; group < p.microbatches; group += p.stages) {
    const int end = std::min(group + p.stages, p.microbatches);
    for (int v = 0; v < p.chunks; ++v) {
      for (int m = group; m < end; ++m)
        out.push_back({backward ? Pass::backward : Pass::forward, m, backward ? p.chunks - 1 - v : v});
    }
  }
  return out;
}

}  // namespace

std::vector<Slot> interleaved(const Pipeline& p) {
  const std::vector<Slot> forwards = one_way(p, false), backwards = one_way(p, true);
  const int total = p.microbatches * p.chunks;
  // Twice the distance to the last stage, for a microbatch must also come back, and all chunks but the last of a group
  // (Megatron Core's get_pp_rank_microbatches, 2025; until 2024 a lone group had all its forwards first).
  const int ahead = (p.stages - p.stage - 1) * 2 + (p.chunks - 1) * p.stages + (p.beside ? 1 : 0) + p.lead;
  const int warm_up = std::min(total, ahead);
  std::vector<Slot> out(forwards.begin(), forwards.begin() + warm_up);
  out.reserve(2 * static_cast<std::size_t>(total));
  int done = 0;
  for (int next = warm_up; next < total; ++next) {
    const Slot &forward = forwards[next], &backward = backwards[done++];
    if (p.beside) {
      out.push_back({Pass::overlapped, forward.microbatch, forward.chunk, backward.microbatch, backward.chunk});
      continue;
    }
    out.push_back(forward);
    out.push_back(backward);
  }
  out.insert(out.end(), backwards.begin() + done, backwards.end());
  return out;
}

}  // namespace plan
