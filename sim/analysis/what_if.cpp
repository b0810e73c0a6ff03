// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/what_if.h"

#include <set>
#include <variant>

#include "core/base/parallel.h"
#include "sim/engine/chains.h"
#include "sim/engine/lateness.h"
#include "sim/pricing/flatten.h"

namespace sim {
namespace {

const char kHostName[] = "host";

/// Of the operators of all segments, one behind the other: the engine's steps of each variant.
std::vector<std::string> categories_of(const EngineInput& in, const std::vector<std::string>& channels) {
  std::vector<std::string> out;
  for (const plan::Segment& segment : in.plan->segments) {
    for (const plan::Operator& op : segment.operators) {
      out.push_back(category_of(in.plan->works[op.work], op.channel < 0 ? "" : channels[op.channel]));
    }
  }
  return out;
}

Ticks length_without(EngineInput in, const std::vector<std::string>& categories, const std::string& free) {
  if (free == kHostName) in.host_start = 0;
  for (std::size_t i = 0; i < in.steps.size(); ++i) {
    if (free == kHostName) in.steps[i].host = 0;
    if (categories[i % categories.size()] != free) continue;
    in.steps[i].duration = in.steps[i].wait = 0;
    in.steps[i].members = 1;
    in.steps[i].crossing = -1;
  }
  // Kernels that take no time are never late.
  wait_for_the_latest(in);
  chain(in);
  const plan::Plan& plan = *in.plan;
  return length_of(plan, std::move(in));
}

}  // namespace

std::string category_of(const plan::Work& work, const std::string& channel) {
  if (!channel.empty()) return channel;
  if (std::holds_alternative<plan::Matmul>(work)) return "matmul";
  if (std::holds_alternative<plan::Attention>(work)) return "attention";
  if (std::holds_alternative<plan::IndexScores>(work)) return "index_scores";
  if (std::holds_alternative<plan::Convolution>(work)) return "convolution";
  if (std::holds_alternative<plan::Recurrence>(work)) return "scan";
  if (std::holds_alternative<plan::RatedCopy>(work)) return "copy";
  if (std::holds_alternative<plan::HostSync>(work)) return kHostName;
  return "memory_bound";
}

std::vector<FreeStep> what_if_free(const EngineInput& in, const std::vector<std::string>& channels) {
  const std::vector<std::string> categories = categories_of(in, channels);
  std::set<std::string> names(categories.begin(), categories.end());
  names.insert(kHostName);
  std::vector<FreeStep> out{{"", 0}};  // nothing is free
  for (const std::string& name : names) out.push_back({name, 0});
  std::vector<Ticks> lengths(out.size());
  base::parallel_for(out.size(), [&](std::size_t i) { lengths[i] = length_without(in, categories, out[i].free); });
  for (std::size_t i = 0; i < out.size(); ++i) out[i].saved = lengths[0] - lengths[i];
  out.erase(out.begin());
  return out;
}

}  // namespace sim
