// real/executor/actions/linear_backward.cpp -- gradients of linear layers' inputs, weights and biases.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "real/executor/actions/latent.h"
#include "real/executor/actions/linear.h"
#include "real/executor/actions/narrow.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

using kernels::Matmul;

void gather_output_gradient(Task& task, const Linear& l) {
  if (is_narrow_layer(task)) return gather_gradient_codes(task, l);
  task.keep_gradient_stream("d branch piece");
  all_gather(task, task.has("d branch") ? "d branch" : "d branch piece", l.output_gradient());
}

void gather_input_again(Task& task, const Linear& l) {
  if (is_narrow_layer(task)) return gather_input_codes(task, l);
  all_gather(task, l.input(task), l.gathered(task));
}

void input_gradient(Task& task, const Linear& l) {
  const auto& work = task.work<plan::Matmul>();
  const Piece piece = next_piece(task, l, work.k);
  const bool narrow = is_narrow(task);
  const Tensor dy = narrow ? narrow_gradient(task, l) : output_gradient(task, l);
  const std::int64_t rows = dy.count / piece.of;
  expect(task, "rows", work.m, rows);
  expect(task, "inputs", work.n, piece.in);
  const std::string part = piece.whole() ? "" : " at " + std::to_string(piece.begin);
  const Tensor dx = task.make(gradient_name(l.input(task), l.name + part), rows * piece.in);
  if (narrow) return narrow_input_gradient(task, l, piece, dx);
  const Tensor w = task.weight(l.weight(task));
  task.backend.matmul(Matmul{rows, piece.in, piece.width}, cut_out(task, piece, rows, dy), piece.of_weight(w), dx);
}

void add_input_gradients(Task& task, const Linear& l) {
  const std::string name = gradient_name(l.input(task), l.name);
  join_gradients(task, name, name);
}

void reduce_input_gradient(Task& task, const Linear& l, bool scatters) {
  const std::string name = gradient_name(l.input(task), l.name);
  const Tensor partial =
      shares_input(task, l) ? join_gradients(task, gradient_name(l.input(task), ""), name) : task.read(name);
  reduced(task, partial, name, scatters);
}

/// Whether an operator of its own adds this layer's weight gradient to the sum over microbatches.
bool added_apart(const Task& task, const Linear& l) {
  const auto& names = task.rank.plan.names;
  return std::find(names.begin(), names.end(), l.name + " gradient accumulation") != names.end();
}

void weight_gradient(Task& task, const Linear& l) {
  const auto& work = task.work<plan::Matmul>();
  const Piece piece = next_piece(task, l, work.n);
  const bool narrow = is_narrow(task);
  const Tensor x = narrow ? narrow_input(task, l) : task.read(input_name(task, l));
  const std::int64_t rows = x.count / piece.in;
  expect(task, "rows", work.k, rows);
  expect(task, "inputs", work.m, piece.in);
  const bool apart = added_apart(task, l);
  Tensor dw;
  if (!apart) {
    dw = task.gradient(l.weight(task));
  } else if (piece.first) {
    dw = task.make(l.separate_gradient(), piece.of * piece.in);
  } else {
    dw = task.read(l.separate_gradient());
  }
  if (narrow) return narrow_weight_gradient(task, l, piece, piece.of_weight(dw), !apart);
  const Tensor dy = output_gradient(task, l);
  task.backend.matmul(Matmul{piece.width, piece.in, rows, true, false, 1, apart ? 0.0 : 1.0},
                      cut_out(task, piece, rows, dy), x, piece.of_weight(dw));
}

void accumulate_gradient(Task& task, const Linear& l) {
  const Tensor dw = task.read(l.separate_gradient());
  task.backend.add(dw, task.gradient(l.weight(task)));
  task.erase(l.separate_gradient());
}

void bias_gradient(Task& task, const Linear& l) {
  const Tensor dy = output_gradient(task, l), db = task.gradient(l.bias());
  task.backend.sum_rows(dy.count / db.count, dy, db);
}

}  // namespace

Tensor cut_out(Task& task, const Piece& piece, std::int64_t rows, const Tensor& y) {
  if (piece.whole()) return y;
  const Tensor out = task.backend.allocate(rows * piece.width);
  task.backend.strided_copy(kernels::row_pieces(rows, piece.width, piece.of, piece.width),
                            y.part(piece.begin, y.count - piece.begin), out);
  return out;
}

/// The gradient of a row-parallel layer's output, where no collective has brought it, is what flows back; that of a
/// parallel block's other branch is the same.
Tensor output_gradient(Task& task, const Linear& l) {
  if (l.side == Side::row && !task.has(l.output_gradient())) {
    if (task.c.model.parallel_block && l.name == "attention output") {
      task.alias(l.output_gradient(), "d feed-forward down");
    } else if (task.has("d branch")) {
      task.alias(l.output_gradient(), "d branch");
    } else {
      task.keep_gradient_stream(l.output_gradient());
    }
  }
  if (l.name == "key and value down" && !task.has(l.output_gradient())) join_narrow_gradient(task);
  return task.read(l.output_gradient());
}

Tensor join_gradients(Task& task, const std::string& prefix, const std::string& name) {
  std::vector<Tensor> parts;
  for (const std::string& part : task.rank.values.names(task.site, prefix)) {
    parts.push_back(task.read(part));
    task.erase(part);
  }
  const Tensor sum = task.make(name, parts.front().count);
  task.backend.fill(sum, 0);
  for (const Tensor& part : parts) task.backend.add(part, sum);
  return sum;
}

/// A framework's kernel behind a matmul that does not scale its result, as those here do.
void scaled_within(Task&) {}

void add_linear_backward(Actions& actions, const Linear& l) {
  actions[l.name + " input all-gather"] = [l](Task& t) { gather_input_again(t, l); };
  actions[l.name + " gradient all-gather"] = [l](Task& t) { gather_output_gradient(t, l); };
  actions[l.name + " input gradient"] = [l](Task& t) { input_gradient(t, l); };
  actions[l.name + " input gradients added"] = [l](Task& t) { add_input_gradients(t, l); };
  actions[l.name + " input gradient all-reduce"] = [l](Task& t) { reduce_input_gradient(t, l, false); };
  actions[l.name + " input gradient reduce-scatter"] = [l](Task& t) { reduce_input_gradient(t, l, true); };
  actions[l.name + " weight gradient"] = [l](Task& t) { weight_gradient(t, l); };
  actions[l.name + " gradient accumulation"] = [l](Task& t) { accumulate_gradient(t, l); };
  actions[l.name + " bias gradient"] = [l](Task& t) { bias_gradient(t, l); };
  for (const char* what : {" input gradient scaled", " weight gradient scaled"}) actions[l.name + what] = scaled_within;
}

}  // namespace real
