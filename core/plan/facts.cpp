// SPDX-License-Identifier: Apache-2.0
#include "core/plan/facts.h"

#include "core/plan/family.h"
#include "core/spec/search_space.h"

namespace plan {

trace::Facts facts_of(const spec::Job& job) {
  const spec::Training& t = job.training;
  trace::Facts out;
  const auto number = [&](const char* key, std::int64_t value) { out.emplace_back(key, std::to_string(value)); };
  if (!job.model.name.empty()) out.emplace_back("model", job.model.name);
  number("model.layers", job.model.layers);
  number("cluster.gpus", job.cluster.gpus());
  number("training.sequence", t.sequence);
  number("training.global_batch", t.global_batch);
  out.emplace_back("training.precision", spec::name(t.precision));
  for (int k = 0; k < spec::kSearchKeys; ++k) {
    const auto key = static_cast<spec::SearchKey>(k);
    out.emplace_back(spec::path_of(key), spec::value_text(key, spec::value_of(key, job)));
  }
  return out;
}

std::vector<trace::WorkKind> work_kinds_of(const Plan& plan) {
  std::vector<trace::WorkKind> out;
  for (const Work& work : plan.works) out.push_back({family_of(work), members_of(work)});
  return out;
}

}  // namespace plan
