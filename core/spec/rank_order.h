// core/spec/rank_order.h -- strategy.rank_order: which axis of ranks runs fastest, which slowest, as in Megatron's
// `order` ("tp-cp-ep-dp-pp").
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/base/fault.h"

namespace spec {

struct Job;

/// Places of the axes in the order, 0 the fastest. ep left out stands in front of dp.
struct RankOrder {
  int tp = 0, cp = 1, ep = 2, dp = 3, pp = 4;
  bool operator==(const RankOrder&) const = default;
};

/// Nothing when the text is not tp, cp, dp, pp and maybe ep, each once, joined by dashes.
std::optional<RankOrder> parse_rank_order(std::string_view);

/// What is wrong with the job's order: not one, or one that its degrees make impossible here. REQUIRES: degrees >= 1.
std::vector<base::Fault> rank_order_faults(const Job&);

/// What etp is where the Job leaves it out, with `dp` replicas: tp, where the framework has it so and the experts'
/// width and the ranks divide by it.
int usual_etp(const Job&, std::int64_t dp);

}  // namespace spec
