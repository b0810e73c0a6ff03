// SPDX-License-Identifier: Apache-2.0
#include "sim/against/job_facts.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "core/base/near_names.h"

namespace sim {
namespace {

constexpr std::string_view kOwnFramework = "forerun";  // of workloads/frameworks: what real mode runs

const std::string* fact(const trace::Facts& facts, const std::string& key) {
  const auto at = std::ranges::find(facts, key, [](const auto& entry) { return entry.first; });
  return at == facts.end() ? nullptr : &at->second;
}

/// "NVIDIA H200" is a gpu "h200-sxm". Nothing is known of a name without a number.
bool may_be(const std::string& device, const std::string& gpu) {
  const auto is_size = [](const std::string& word) { return word.ends_with("gb"); };
  std::set<std::string> names = base::numbered_words(gpu);
  std::erase_if(names, is_size);
  const std::set<std::string> told = base::numbered_words(device);
  return names.empty() || std::ranges::any_of(names, [&](const std::string& word) { return told.contains(word); });
}

}  // namespace

std::vector<base::Fault> conflicts(const trace::Facts& job, const trace::Facts& recorded) {
  std::vector<base::Fault> out;
  for (const auto& [key, value] : job) {
    const std::string* other = fact(recorded, key);
    if (other == nullptr || *other == value) continue;
    out.push_back(
        {key, "the step was recorded with " + *other + ", the job has " + value, "name the job that was measured", {}});
  }
  return out;
}

std::vector<std::string> doubts(const spec::Job& job, const trace::Recorded& recorded) {
  std::vector<std::string> out;
  const std::string& gpu = job.cluster.node.gpu.name;
  const std::string* device = fact(recorded.facts, "device");
  if (device != nullptr && !may_be(*device, gpu)) {
    out.push_back("recorded on " + *device + ", predicted for " + gpu + ": two GPUs are compared");
  }
  if (job.cluster.gpus() > 1 && fact(recorded.facts, "cluster.gpus") == nullptr) {
    out.push_back("the trace tells of one GPU alone, the job has " + std::to_string(job.cluster.gpus()));
  }
  if (recorded.source == "gpu" && job.framework.name != kOwnFramework) {
    out.push_back("real mode runs kernels of its own, predicted are those of " + job.framework.name +
                  ": like with like by --framework " + std::string(kOwnFramework));
  }
  return out;
}

}  // namespace sim
