// core/spec/check.cpp -- every rule that ties model, cluster, training and strategy together, in the order in which
// their faults are told; the rules of one idea are a file *_rules.cpp. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "core/spec/context_rules.h"
#include "core/spec/job.h"
#include "core/spec/mixed_cluster.h"
#include "core/spec/rank_order.h"
#include "core/spec/rules.h"
#include "core/spec/vocabulary_rules.h"

namespace spec {
namespace {

using Rule = std::vector<base::Fault> (*)(const Job&);

void add(std::vector<base::Fault>& all, std::vector<base::Fault> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<base::Fault> rule_faults(const Job& job) {
  std::vector<base::Fault> faults = range_faults(job);
  if (!faults.empty()) return faults;  // every rule below divides or multiplies these
  for (const Rule rule : {hardware_faults, degree_faults, simulation_faults, outage_faults, storage_faults})
    add(faults, rule(job));
  if (job.model.is_list()) {
    add(faults, layer_list_faults(job));
    add(faults, sharding_faults(job));
    return faults;
  }
  for (const Rule rule : {model_faults, rank_order_faults, tensor_faults, context_faults, expert_faults,
                          pipeline_faults, sharding_faults, offload_faults, precision_faults, recompute_faults}) {
    add(faults, rule(job));
  }
  if (faults.empty()) add(faults, size_faults(job));
  return faults;
}

}  // namespace

std::vector<base::Fault> check(const Job& job) {
  // Until nodes have as many GPUs there is no number of ranks that other rules could divide.
  if (!even_nodes(job.cluster)) return mixed_cluster_faults(job);
  std::vector<base::Fault> faults = rule_faults(job);
  add(faults, vocabulary_faults(job));
  add(faults, serving_faults(job));
  add(faults, unsupported(job));
  for (base::Fault& fault : mixed_cluster_faults(job)) {
    const auto same = [&](const base::Fault& known) { return known.field == fault.field && known.what == fault.what; };
    if (std::none_of(faults.begin(), faults.end(), same)) faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace spec
