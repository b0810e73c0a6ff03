// core/spec/search_space.h -- the keys of a Job that a search may choose, and the values that it may choose for each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/spec/job.h"
#include "core/spec/layer_cuts.h"

namespace spec {

/// In the order in which a strategy is told.
enum class SearchKey : std::uint8_t {
  tp,
  sp,
  cp,
  cp_kind,
  pp,
  schedule,
  vpp,
  embedding_in_split,
  stage_layers,
  dp,
  zero,
  shard,
  ep,
  etp,
  micro_batch,
  recompute,
  attention_kernel,
  overlap_tp,
  offload
};
inline constexpr int kSearchKeys = 19;
/// As the user writes them; a Job has them as strategy.KEY, but micro_batch as training.micro_batch.
inline constexpr std::array<std::string_view, kSearchKeys> kSearchKeyNames{
    "tp",     "sp",   "cp",    "cp_kind", "pp",  "schedule",    "vpp",       "embedding_in_split", "stage_layers",
    "dp",     "zero", "shard", "ep",      "etp", "micro_batch", "recompute", "attention_kernel",   "overlap.tp",
    "offload"};
constexpr std::string_view name(SearchKey key) { return kSearchKeyNames[static_cast<int>(key)]; }
/// "strategy.tp"
std::string path_of(SearchKey);

/// A key's value as a number: itself, 0 or 1, an enumerator; recompute and offload put several into one. stage_layers:
/// even, listed, or a cut whose list follows from the model and the other keys.
using SearchValue = std::int32_t;
inline constexpr SearchValue kEvenLayers = 0;     // or as embedding_in_split says
inline constexpr SearchValue kListedLayers = -1;  // whatever list the job has
constexpr SearchValue value_of(LayerCut cut) { return 1 + static_cast<SearchValue>(cut); }
SearchValue value_of(const Recompute&);
SearchValue value_of(SearchKey, const Job&);
/// REQUIRES: for stage_layers, that pp, schedule and vpp are set.
void set_value(SearchKey, SearchValue, Job&);
/// As a Job file has it: "interleaved", "{kind: full, layers: 4}"; of stage_layers the cut's name.
std::string value_text(SearchKey, SearchValue);

/// Values of each key; nothing: the usual ones are searched, and what the file says of a key that was set free.
struct SearchSpace {
  std::array<std::optional<std::vector<SearchValue>>, kSearchKeys> values;
  std::array<std::optional<SearchValue>, kSearchKeys> of_file;
  /// Of a key that the file fixes. A list of stages is one for its own number of them alone: it is given up.
  void set_free(SearchKey key) {
    std::optional<std::vector<SearchValue>>& fixed = values[static_cast<int>(key)];
    if (fixed && fixed->front() != kListedLayers) of_file[static_cast<int>(key)] = fixed->front();
    fixed.reset();
  }
  std::optional<std::vector<SearchValue>>& operator[](SearchKey key) { return values[static_cast<int>(key)]; }
  const std::optional<std::vector<SearchValue>>& operator[](SearchKey key) const {
    return values[static_cast<int>(key)];
  }
};

/// One strategy: a value of each key.
struct SearchPoint {
  std::array<SearchValue, kSearchKeys> values{};
  SearchValue& operator[](SearchKey key) { return values[static_cast<int>(key)]; }
  SearchValue operator[](SearchKey key) const { return values[static_cast<int>(key)]; }
  auto operator<=>(const SearchPoint&) const = default;
};

}  // namespace spec
