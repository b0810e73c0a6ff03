// sim/search/search.h -- the best strategies of a space: memory first as a filter, then bounds, then two levels, then
// the best again at operator level (answer.h). Read search.cpp top to bottom. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result/search.h"
#include "core/spec/search_space.h"

namespace sim {

/// On one cluster and one batch, cost, tokens per dollar and energy (the nodes' rated power over the whole step) put
/// strategies in the order of step time.
enum class Objective { step_time, cost, memory, energy, tokens_per_dollar };

/// One of several processes that search together. Each looks at the choices of layers whose number its rank is, and the
/// first makes the answer of what all have found.
struct SearchShare {
  int rank = 0, world = 1;
  /// Every process's `mine`, by rank. Called once, by the thread that called search().
  std::function<std::vector<std::string>(const std::string& mine)> gather;
};

struct SearchOptions {
  Objective by = Objective::step_time;
  int top = 10;
  std::optional<double> gpu_hour;  // price of a GPU for an hour
  unsigned threads = 0;            // 0: all cores
  bool more_nodes = false;         // where nothing fits, find out how many nodes would do
  /// Whether a strategy that fits may be an answer; asked by several threads at once, of those that no bound proves
  /// worse. Empty: all may.
  std::function<bool(const result::Choices&)> wanted;
  bool bounds = true;  // false: prices every strategy that fits (the oracle of the tests)
  std::function<void(std::size_t done, std::size_t all)> progress;  // called by one thread at a time
  const std::atomic<bool>* stop = nullptr;                          // once true, the best so far is the answer
  SearchShare share = {};
};

/// `base`: neither checked nor resolved; `space`: values of the keys that are not left to the search. Throws
/// base::InputError when no strategy of the space is sound, with the faults of the first. The same answer on any number
/// of threads and processes, unless stopped; but how many a bound proved worse is not. Ranks above 0 return nothing of
/// interest, and do not throw where nothing is sound.
result::Search search(const spec::Job& base, const spec::SearchSpace& space, const SearchOptions&);

}  // namespace sim
