// real/executor/actions/linear.h -- linear layers, cut over tensor-parallel ranks by outputs (column) or by inputs
// (row) or not at all (whole). Weights are [out, in]; y = x W^T + b.
//
// A row-parallel layer's bias is added by the first rank alone, in front of the reduction, so that it is added once.
// Where a framework has a matmul for each part of the outputs (q, k, v), each operator covers the next part.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "real/executor/actions.h"

namespace real {

enum class Side { column, row, whole };

struct Linear {
  std::string name, source;  // and the tensor that it reads
  Side side;
  /// Recomputation by operators has operators of their own for the keys of q, k and v and for a gate beside its up.
  std::string layer() const;
  /// A head without a weight of its own has that of the embedding.
  std::string weight(Task&) const;
  std::string bias() const { return layer() + ".bias"; }
  std::string input(const Task&) const;     // `source`, but that branches of a parallel block may have one norm
  std::string gathered(const Task&) const;  // the input of all tensor-parallel ranks
  std::string output_gradient() const { return "d " + layer(); }
  std::string separate_gradient() const { return layer() + " weight gradient"; }
};

/// The columns of a linear layer's output that an operator covers; first and last: of those that it makes.
struct Piece {
  std::int64_t begin, width, of, in;
  bool first, last;
  bool whole() const { return width == of; }
  Tensor of_weight(const Tensor& w) const { return w.part(begin * in, width * in); }
};
Piece next_piece(Task&, const Linear&, std::int64_t width);
/// Columns of y [rows, piece.of] as a matrix of their own.
Tensor cut_out(Task&, const Piece&, std::int64_t rows, const Tensor& y);

/// Both branches of a parallel block read one norm, whose result is gathered once.
bool shares_input(const Task&, const Linear&);
bool gathers(const Task&, const Linear&);
/// Whether its gathered input is still wanted behind its forward.
bool keeps_input(const Task&, const Linear&);
/// What a layer multiplies.
std::string input_name(const Task&, const Linear&);
/// The all-gather of a tensor along tensor-parallel ranks; the sum over them, `scatters`: of this rank's share alone.
void all_gather(Task&, const std::string& from, const std::string& to);
Tensor reduced(Task&, const Tensor& partial, std::string_view name, bool scatters);

/// Whether what flows from layer to layer takes in this layer's output as it is left.
bool ends_branch(const Task&, const Linear&);
/// Whether a layer is computed again by operators (Recompute::Kind::selective_ops).
bool by_operators(const Task&);
/// A pass that is made again by operators finds what attention's output made where that was kept.
void find_kept_output(Task&);
/// Of a layer's output, whatever brings it.
Tensor output_gradient(Task&, const Linear&);

/// The sum of this layer's gradients whose names begin with `prefix`, known by `name` instead.
Tensor join_gradients(Task&, const std::string& prefix, const std::string& name);

/// All but those of experts.
const std::vector<Linear>& linears();
/// What "NAME", "NAME all-gather", ... mean; and on the way back "NAME input gradient", ...
void add_linear_forward(Actions&, const Linear&);
void add_linear_backward(Actions&, const Linear&);

}  // namespace real
