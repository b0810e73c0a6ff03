// reports/strategy_words.h -- a strategy on one line, for people. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace reports {

/// The value of a key as a Job file has it; empty where the strategy does not tell it.
std::string value_of(const std::vector<std::pair<std::string, std::string>>& choices, const std::string& key);

/// "tp 4 sp, cp 2 ring, pp 4 x 10 interleaved, dp 2, zero 1, micro_batch 1, recompute none, cudnn, overlap.tp
/// userbuffers", of keys and values as a Job file has them.
std::string strategy_words(const std::vector<std::pair<std::string, std::string>>& choices);

}  // namespace reports
