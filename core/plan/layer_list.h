// core/plan/layer_list.h -- a network given as a list of operators (spec/layer_list.h) under data parallelism: forward
// and backward of each operator, gradients reduced in buckets or, as the parameters, sharded by units, embedding tables
// spread whole over the ranks with all-to-alls before and behind. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/plan.h"

namespace plan {

/// Tables of one rank when they are spread over `ranks`, the largest first onto the rank that looks up least (of
/// equals, the one that holds least): the parameters of the fullest rank, and the tables and rows of a sample of the
/// busiest.
struct TableShare {
  std::int64_t parameters = 0, width = 0, lookups = 0, tables = 0;
};
TableShare table_share(const std::vector<spec::Layer>&, int ranks);

/// The one role of such a job: every rank runs this program. REQUIRES: tp, cp and pp are 1.
Role layer_list_role(const Context&, Pool&, Plan&);

}  // namespace plan
