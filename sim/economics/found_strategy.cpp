// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/found_strategy.h"

#include "core/config/search_reader.h"
#include "sim/predict.h"

namespace sim {

spec::Job job_of(const spec::Candidate& candidate, const result::Choices& strategy) {
  spec::Job job = candidate.job;
  for (const auto& [key, value] : strategy) config::set_choice(key, value, job);
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
