// real/executor/actions/experts.h -- what the parts of a layer of experts share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/actions.h"

namespace real {

/// Of the operator's layer and microbatch, once its counts are known.
Routing& routing_of(Task&);
Counts flat(const std::vector<Counts>&);

/// This rank's tokens and all experts.
kernels::Permute permute_shape(const Task&);

/// `mine[i]` goes to member i of the operator's group; what the others have for this rank comes back. All of one size.
std::vector<Counts> exchange_counts(Task&, const std::vector<Counts>& mine);
/// What the ranks of ep have for this rank's experts: told by each, or everyone's capacity.
void receive_counts(Task&);

/// Where a pass that is made again goes on from what was kept of its exchange, that is "rows" now.
void find_received(Task&);

/// What experts made, in the order in which it came back: where that is made again, as it was left.
Tensor returned_rows(Task&);

/// Fresh, `rows` of the model's width; zeros where a padded capacity leaves rows that no token takes.
Tensor make_rows(Task&, std::string_view name, std::int64_t rows);

/// Of the layer's branch, as the layers behind it left it.
Tensor branch_gradient(Task&);

/// The grouped matmul of a parameter whose rows lie one expert behind the other, on this rank's rows.
kernels::GroupedMatmul grouped(Task&, const std::string& parameter, kernels::GroupedMatmul::Pass);

/// Throws std::logic_error unless the Plan's collective carries so many numbers. Without a padded capacity the
/// Plan's rows are a forecast, which is not held against those that come.
void expect_bytes_of_rows(const Task&, std::int64_t elements);

void add_expert_linear_actions(Actions&);

}  // namespace real
