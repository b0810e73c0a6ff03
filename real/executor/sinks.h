// real/executor/sinks.h -- attention sinks (kernels/attention_sinks.h), whichever core has computed attention. Of a
// core that merges results of several sets of keys one result has them. Models without sinks: nothing is done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/blocks.h"

namespace real {

/// They join what the rank's heads from `first_head` on, as many as `a` has, have attended.
void join_sinks(Task&, const kernels::Attention& a, std::int64_t first_head, const Attended&);
/// Adds to their gradient; `all`: of all keys and the sinks.
void add_sinks_gradient(Task&, const kernels::Attention& a, std::int64_t first_head, const Attended& all,
                        const Tensor& dout);

/// Of queries that were attended in blocks: `queries` of each sequence.
kernels::Attention attended_shape(const Task&, std::int64_t queries, const Attended&);

}  // namespace real
