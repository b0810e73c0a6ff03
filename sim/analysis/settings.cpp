// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/settings.h"

#include "core/spec/search_space.h"

namespace sim {

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

}  // namespace sim
