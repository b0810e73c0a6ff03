// real/executor/actions/row_blocks.h -- linear layers whose tokens are multiplied block by block while others travel
// (overlap.tp chunked and userbuffers, core/plan/tensor_parallel.cpp).
//
//   chunked       column: this rank's own tokens while the others are gathered, then the others
//   userbuffers   column: a ring, the i-th operator has the tokens of the i-th rank before this one; row: the i-th
//                 has the tokens that the (i+1)-th rank before this one owns, and their sum travels on from rank to
//                 rank until it is at home; without sequence parallel blocks are summed over all ranks, one by one
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "real/executor/task.h"

namespace real {

/// Tokens `begin` to `begin + rows` of a layer's output and their inputs; of codes with scales by block, theirs.
struct RowBlock {
  Tensor x;
  std::int64_t begin = 0, rows = 0;
  Tensor scales = {};
};

bool gathers_by_blocks(const Task&);  // a column-parallel layer's input
bool reduces_by_blocks(const Task&);  // a row-parallel layer's output

/// Of the `number`-th operator of a column-parallel layer that reads `source`, gathered as `gathered`.
std::vector<RowBlock> column_blocks(Task&, std::int64_t number, const std::string& source, const std::string& gathered,
                                    std::int64_t width);
/// How many operators do that.
std::int64_t column_block_count(const Task&);
RowBlock row_block(Task&, std::int64_t number, const std::string& source, std::int64_t width);

/// What a ring gathers: this rank's shard, and the name of all.
struct Ring {
  std::string source, gathered;
};
/// The next all-gather of a ring: brings the next shard of each.
void gather_next_shard(Task&, const std::vector<Ring>&);
/// The shards of a ring as one tensor.
void join_shards(Task&, const std::string& source, const std::string& gathered);
/// The next reduction of blocks "NAME block i"; the last one leaves NAME. True then.
bool reduce_next_block(Task&, const std::string& name);

}  // namespace real
