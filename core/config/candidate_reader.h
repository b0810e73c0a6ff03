// core/config/candidate_reader.h -- the clusters of a plan: each entry of `candidates` stands for every one of its
// counts on every one of its fabrics. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/price_reader.h"
#include "core/spec/purchase.h"

namespace config {

/// `list`: [{node: dgx-h100, nodes: [32, 64], fabric: [..], terms: rent, rent: $2.10/h, price: $270k, spares: 2}].
/// `job`: a Job's tree without its cluster. Faults of the Job itself are noted once, under the keys of the plan.
/// `batches`: sequences of a step, by GPUs, where `job` does not say. `jobs`: takes the tree with each cluster, by
/// Candidate::cluster.
std::vector<spec::Candidate> read_candidates(const Value& list, const Value& job,
                                             const std::map<std::int64_t, std::int64_t>& batches, const PriceList&,
                                             const Catalogue&, Faults&, std::map<int, Value>* jobs = nullptr);

/// Of the clusters that can be read.
std::set<std::int64_t> gpus_of(const Value& list, const Catalogue&);

/// "dgx-h100:32,64@rail-400g,rail-400g-2to1", as a flag has it, as such an entry. `origin`: the flag, for messages.
/// Throws base::InputError.
Value candidate_tree(std::string_view text, const std::string& origin);

}  // namespace config
