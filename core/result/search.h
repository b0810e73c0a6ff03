// core/result/search.h -- the answer of `forerun search`: the best strategies, what was looked at, and what was not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result/prediction.h"

namespace result {

using Choices = std::vector<std::pair<std::string, std::string>>;  // key and value as a Job file has them

/// A strategy of the front of time against memory: none takes less of both.
struct SearchTrade {
  Choices strategy;
  double step_time_s = 0,
         pace_s = 0;  // at operator level
  std::int64_t peak_bytes = 0;
};

struct SearchRow {
  Choices strategy;
  Prediction prediction;               // at operator level
  double two_level_s = 0;              // what the search went by
  bool tied = false;                   // with the first, by what their intervals do not share
  double cost_per_million_tokens = 0;  // in the currency of the price; 0: no price was given
  double energy_per_step_j = 0;        // 0: the node's power is unknown
  bool tight = false;                  // fits with hardly anything to spare (sim/memory/tight.h)
};

/// The values that a key could take, and of how many strategies each is.
struct SearchedKey {
  std::string key;
  bool given = false;  // by the file or the user
  std::vector<std::pair<std::string, std::int64_t>> values;
};

struct Search {
  std::string job;                       // model and cluster
  std::string by;                        // step_time cost memory energy tokens_per_dollar
  bool complete = true;                  // false: interrupted; the best of what was evaluated
  std::int64_t strategies = 0;           // sound ones
  std::int64_t evaluated = 0;            // of them, priced, proved worse by a bound, unwanted or proved too large
  std::int64_t fits = 0;                 // of those whose memory was worked out
  std::int64_t priced = 0, bounded = 0;  // of those that fit
  std::int64_t unwanted = 0;             // likewise, that may not be an answer: the framework cannot launch them
  std::int64_t operator_level = 0;       // of the priced, those that two levels cannot tell
  double elapsed_s = 0;
  std::vector<SearchRow> results;     // best first
  std::optional<SearchRow> nearest;   // where nothing fits: what comes nearest to the GPUs' memory
  std::optional<int> nodes_that_fit;  // and on how many nodes of the kind something would
  std::vector<SearchTrade> pareto;    // fastest first
  std::vector<SearchedKey> space;
  Choices left_out;  // key, and what of it is not searched unless allowed
  std::vector<std::string> notes;
};

}  // namespace result
