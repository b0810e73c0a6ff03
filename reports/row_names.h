// reports/row_names.h -- what rows of a comparison or a search are called, wherever they are shown.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/comparison.h"
#include "core/result/search.h"

namespace reports {

/// "tp" for "strategy.tp", but the whole path where another varied one ends alike.
std::string short_name(const std::string& path, const result::ComparisonRow&);

/// "a.yaml: tp 4, pp 2"
std::string what_differs(const result::ComparisonRow&, bool several_jobs);

/// The largest category of the fullest stage, as far as the prediction tells.
std::string why_it_does_not_fit(const result::Prediction&);

/// The value of a key as a Job file has it; empty where the strategy does not tell it.
std::string value_of(const result::Choices&, const std::string& key);

/// "tp 4 sp, cp 2 ring, pp 4 x 10 interleaved, dp 2, zero 1, micro_batch 1, recompute none, cudnn, overlap.tp
/// userbuffers"
std::string in_words(const result::Choices&);

}  // namespace reports
