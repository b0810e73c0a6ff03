// sim/compare.h -- several jobs predicted side by side and put in order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result/comparison.h"
#include "core/spec/job.h"

namespace sim {

struct Candidate {
  std::string job;  // as in result::ComparisonRow
  std::vector<std::pair<std::string, std::string>> varied;
  std::optional<spec::Job> sound;  // checked and resolved; nothing: refused
  std::string refusal;             // the first fault then
};

/// Its prediction, or why there is none: what cannot be simulated is refused too, and takes no other row away.
result::ComparisonRow predicted(Candidate);

/// Predicts all sound candidates on the machine's cores. Steps of equally many tokens, and those of which some count
/// samples, are ordered by time, steps that differ in tokens by tokens per second and GPU; equals keep the order in
/// which they were given.
result::Comparison compare(std::vector<Candidate>);

}  // namespace sim
