// core/config/usual_batch.h -- sequences of a step where a plan does not say how many.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace config {

/// For each number of GPUs a batch of about 4 million tokens that replicas on them can share: the same for all where
/// one divides, or is divided by, every number of GPUs, otherwise each its own. A power of two times the odd parts of
/// the numbers, so up to 1.4 times as many tokens or as few; where they share one, up to twice as many if only so many
/// are one for each GPU of nodes of eight. Odd parts beyond all of the batch are left to the rules, which tell of them.
std::map<std::int64_t, std::int64_t> usual_batches(std::int64_t sequence, const std::set<std::int64_t>& gpus);

/// "512 sequences (4,194,304 tokens a step)", or each with its GPUs.
std::string batches_text(std::int64_t sequence, const std::map<std::int64_t, std::int64_t>& of_gpus);

}  // namespace config
