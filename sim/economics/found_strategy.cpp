// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/found_strategy.h"

#include "core/config/search_reader.h"
#include "sim/predict.h"

namespace sim {

spec::Job job_of(const spec::Candidate& candidate, const result::Choices& strategy) {
  spec::SearchSpace told;
  for (const auto& [key, value] : strategy) config::read_values(key + '=' + value, "strategy", told);
  spec::Job job = candidate.job;
  for (int k = 0; k < spec::kSearchKeys; ++k) {
    const auto key = static_cast<spec::SearchKey>(k);
    if (told[key]) spec::set_value(key, told[key]->front(), job);
  }
  return spec::resolve(std::move(job));
}

double slower_with_half_the_uplinks(const spec::Candidate& candidate, const result::Choices& strategy) {
  spec::Job job = job_of(candidate, strategy);
  const double now = predict(job, Detail::chains).prediction.step_time_s;
  job.cluster.fabric.oversubscription *= 2;
  for (spec::Tier& tier : job.cluster.fabric.upper_tiers) tier.oversubscription *= 2;
  return predict(job, Detail::chains).prediction.step_time_s / now;
}

}  // namespace sim
