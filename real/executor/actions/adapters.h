// real/executor/actions/adapters.h -- what the low-rank adapters of all linear layers and those of experts share:
// names, the way of "inner" between ranks, where gradients of A and B go. y = W x + B (A x); A is [rank, in], B [out,
// rank]; "inner" is A x, [rows, rank]. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "real/executor/actions.h"

namespace real {

/// "qkv adapter A.weight": what belongs to the adapter beside a linear layer, its operators among them.
std::string of_adapter(const std::string& linear, const char* what);

std::int64_t adapter_rank(const Task&);

/// Writes x times alpha / rank as `name`; alpha is the rank here.
void scale_adapter(Task&, const Tensor& x, const std::string& name);

/// Rows of which each of several ranks has some columns: one rank's piece behind the other, or row by row.
struct ColumnPieces {
  std::int64_t pieces = 1, rows = 0, width = 0;  // of one piece, columns
};
void join_pieces(Task&, const ColumnPieces&, const Tensor& by_rank, const Tensor& by_row);
void part_rows(Task&, const ColumnPieces&, const Tensor& by_row, const Tensor& by_rank);

/// Some columns of a tensor of `rows` rows.
struct Columns {
  std::int64_t rows = 0, of = 0, first = 0, width = 0;
};
/// As a matrix of their own, and back.
Tensor taken_columns(Task&, const Columns&, const Tensor& from);
void put_columns(Task&, const Columns&, const Tensor& columns, const Tensor& to);

/// Where the gradient of "A.weight" or "B.weight" is made: `adds` to the sum over microbatches, or memory of its own
/// where an operator adds it.
struct AdapterGradient {
  Tensor tensor;
  bool adds = true;
};
AdapterGradient adapter_gradient(Task&, const std::string& linear, const char* which);
/// Adds that of the matrix whose gradient has just been made.
void accumulate_adapter_gradient(Task&, const std::string& linear);

/// Beside the grouped matmuls of experts.
void add_expert_adapter_actions(Actions&);

}  // namespace real
