// core/spec/rules.h -- what the rules of check() share: a list of faults and a few numbers of the Job. Each file
// *_rules.cpp holds the rules of one idea. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/job.h"
#include "core/spec/ranges.h"

namespace spec {

inline std::string text(std::int64_t value) { return std::to_string(value); }

/// a * b, stopping at 10^18: no cluster has so many ranks, and no product of two ranges passes it by one step.
std::int64_t times(std::int64_t a, std::int64_t b);

/// Base of the rules of one idea.
class Rules {
 public:
  explicit Rules(const Job& job)
      : job_(job), model_(job.model), cluster_(job.cluster), t_(job.training), s_(job.strategy) {}

 protected:
  void fault(std::string field, std::string what, std::string mend) {
    faults_.push_back({std::move(field), std::move(what), std::move(mend)});
  }
  void range(const char* field, std::int64_t value, std::int64_t min, std::int64_t max);
  /// Microbatches of a replica; 0 while the batch or the degrees do not divide.
  std::int64_t whole_microbatches() const;
  /// Data-parallel replicas, 0 when the other degrees do not divide the ranks.
  std::int64_t data() const;

  const Job& job_;
  const Model& model_;
  const Cluster& cluster_;
  const Training& t_;
  const Strategy& s_;
  std::vector<base::Fault> faults_;
};

/// Each number by itself. Every other rule divides or multiplies these. REQUIRES of all below: this has none.
std::vector<base::Fault> range_faults(const Job&);
/// That GPUs, links and network cards can do what the job asks of them.
std::vector<base::Fault> hardware_faults(const Job&);
/// Degrees against ranks, batch against replicas.
std::vector<base::Fault> degree_faults(const Job&);
/// Slow ranks that exist.
std::vector<base::Fault> simulation_faults(const Job&);
/// Slow and lost links, and where nodes stand in the fabric.
std::vector<base::Fault> outage_faults(const Job&);
/// Input data and checkpoints.
std::vector<base::Fault> storage_faults(const Job&);
/// Models given as a list of operators.
std::vector<base::Fault> layer_list_faults(const Job&);
/// Sizes and combinations of a transformer's own.
std::vector<base::Fault> model_faults(const Job&);
/// Widths and tokens that tensor-parallel ranks share.
std::vector<base::Fault> tensor_faults(const Job&);
/// Experts against the ranks that they are spread and cut over.
std::vector<base::Fault> expert_faults(const Job&);
/// Schedules, chunks, and layers against both.
std::vector<base::Fault> pipeline_faults(const Job&);
/// Shards of states, parameters and gradients.
std::vector<base::Fault> sharding_faults(const Job&);
/// What leaves the GPU.
std::vector<base::Fault> offload_faults(const Job&);
/// Attention kernels, formats below 16 bits, adapters.
std::vector<base::Fault> precision_faults(const Job&);
/// Modules that are computed again.
std::vector<base::Fault> recompute_faults(const Job&);
/// Prefill and decode.
std::vector<base::Fault> serving_faults(const Job&);
/// Sound piece by piece and absurd together. REQUIRES: all others have none.
std::vector<base::Fault> size_faults(const Job&);

// Parts of warnings().
/// Prefill and decode.
std::vector<std::string> serving_warnings(const Job&);
/// Cards and ports of different rates.
std::vector<std::string> port_warnings(const Cluster&);

}  // namespace spec
