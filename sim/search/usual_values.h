// sim/search/usual_values.h -- the values of each key that a search tries where neither the file nor the user says.
// Each rule leaves out only what is refused, equal to another strategy, or said in left_out().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/spec/search_space.h"

namespace sim {

/// The keys in the order in which they are chosen: those that a layer's time depends on first.
inline constexpr std::array<spec::SearchKey, spec::kSearchKeys> kChoosingOrder{spec::SearchKey::tp,
                                                                               spec::SearchKey::sp,
                                                                               spec::SearchKey::cp,
                                                                               spec::SearchKey::cp_kind,
                                                                               spec::SearchKey::ep,
                                                                               spec::SearchKey::etp,
                                                                               spec::SearchKey::micro_batch,
                                                                               spec::SearchKey::recompute,
                                                                               spec::SearchKey::attention_kernel,
                                                                               spec::SearchKey::overlap_tp,
                                                                               spec::SearchKey::offload,
                                                                               spec::SearchKey::pp,
                                                                               spec::SearchKey::dp,
                                                                               spec::SearchKey::schedule,
                                                                               spec::SearchKey::vpp,
                                                                               spec::SearchKey::embedding_in_split,
                                                                               spec::SearchKey::stage_layers,
                                                                               spec::SearchKey::zero,
                                                                               spec::SearchKey::shard};
/// So many of them are a layer's.
inline constexpr int kLayerKeys = 11;

/// Whether two values of `key` can come to two strategies beside those keys of `job` that are chosen before it.
bool has_effect(spec::SearchKey key, const spec::Job& job);

/// Values of `key` beside those chosen before it in `job`, whose other keys are not read. Some may yet be refused by
/// spec::check().
std::vector<spec::SearchValue> usual_values(spec::SearchKey key, const spec::Job& job);

/// What is not searched unless asked for, and why: key and reason.
std::vector<std::pair<std::string, std::string>> left_out(const spec::Job&, const spec::SearchSpace&);

}  // namespace sim
