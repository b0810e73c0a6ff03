// real/executor/actions/linear.cpp -- linear layers, cut over tensor-parallel ranks by outputs (column) or by inputs
// (row) or not at all (whole), and the collectives around them. Weights are [out, in]; y = x W^T + b.
//
// A row-parallel layer's bias is added by the first rank alone, in front of the reduction, so that it is added once.
// Where a framework has a matmul for each part of the outputs (q, k, v), each operator covers the next part.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "real/executor/actions.h"
#include "real/executor/actions/row_blocks.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

using kernels::Matmul;

enum class Side { column, row, whole };

struct Linear {
  std::string name, source;  // and the tensor that it reads
  Side side;
  /// A head without a weight of its own has that of the embedding.
  std::string weight(Task& task) const {
    const std::string own = name + ".weight";
    return name == "output head" && task.find_parameter(own) == nullptr ? "embedding.weight" : own;
  }
  std::string bias() const { return name + ".bias"; }
  std::string gathered() const { return name + " input"; }
  std::string output_gradient() const { return "d " + name; }
  std::string separate_gradient() const { return name + " weight gradient"; }
};

/// The columns of a linear layer's output that an operator covers.
struct Piece {
  std::int64_t begin, width, of, in;
  bool whole() const { return width == of; }
  bool last() const { return begin + width == of; }
  Tensor of_weight(const Tensor& w) const { return w.part(begin * in, width * in); }
};

/// A shared expert's result is added to that of the others first.
bool ends_branch(const Linear& l) { return l.side == Side::row && l.name != "shared expert down"; }

bool gathers(const Task& task, const Linear& l) { return l.side == Side::column && task.c.sp; }

std::string input_name(const Task& task, const Linear& l) { return gathers(task, l) ? l.gathered() : l.source; }

Piece next_piece(Task& task, const Linear& l, std::int64_t width) {
  const Part& part = task.parameter(l.weight(task)).part;
  const std::int64_t out = part.row_count();
  return {task.next_piece(width, out), width, out, part.columns.length};
}

/// Columns of y [rows, piece.of] as a matrix of their own.
Tensor cut_out(Task& task, const Piece& piece, std::int64_t rows, const Tensor& y) {
  if (piece.whole()) return y;
  const Tensor out = task.backend.allocate(rows * piece.width);
  task.backend.strided_copy(kernels::row_pieces(rows, piece.width, piece.of, piece.width),
                            y.part(piece.begin, y.count - piece.begin), out);
  return out;
}

/// Columns of the block's rows of y [tokens, piece.of].
void multiply(Task& task, const Linear& l, const Piece& piece, const RowBlock& block, const Tensor& y) {
  const Tensor w = task.weight(l.weight(task)), bias = task.weight(l.bias());
  const Tensor result = piece.whole() ? y : task.backend.allocate(block.rows * piece.width);
  task.backend.matmul(Matmul{block.rows, piece.width, piece.in, false, true}, block.x, piece.of_weight(w), result);
  if (bias && (l.side != Side::row || task.rank.place.tp() == 0)) {
    task.backend.add_rows(block.rows, bias.part(piece.begin, piece.width), result);
  }
  if (piece.whole()) return;
  task.backend.strided_copy(kernels::row_pieces(block.rows, piece.width, piece.width, piece.of), result,
                            y.part(piece.begin, y.count - piece.begin));
}

/// A row-parallel layer's next block of tokens, which is reduced by itself.
void forward_block(Task& task, const Linear& l, const Piece& piece) {
  const std::int64_t number = task.next_block(task.c.tp);
  const RowBlock block = row_block(task, number, l.source, piece.in);
  expect(task, "rows", task.work<plan::Matmul>().m, block.rows);
  multiply(task, l, piece, block, task.make(l.name + " block " + std::to_string(number), block.rows * piece.of));
}

/// The rows that the operator covers: all, or the next blocks of a gathered input. `last`: none are left.
std::vector<RowBlock> rows_of(Task& task, const Linear& l, const Piece& piece, bool& first, bool& last) {
  if (!gathers(task, l) || !gathers_by_blocks(task)) {
    const Tensor x = task.read(input_name(task, l));
    first = piece.begin == 0;
    last = piece.last();
    return {{x, 0, x.count / piece.in}};
  }
  const std::int64_t count = column_block_count(task);
  const std::int64_t number = piece.last() ? task.next_block(count) : task.this_block();
  first = number == 0 && piece.begin == 0;
  last = number + 1 == count && piece.last();
  return column_blocks(task, number, l.source, l.gathered(), piece.in);
}

void forward(Task& task, const Linear& l) {
  const auto& work = task.work<plan::Matmul>();
  const Piece piece = next_piece(task, l, work.n);
  expect(task, "inputs", work.k, piece.in);
  if (l.side == Side::row && reduces_by_blocks(task)) return forward_block(task, l, piece);
  bool first = false, last = false;
  const std::vector<RowBlock> blocks = rows_of(task, l, piece, first, last);
  std::int64_t rows = 0;
  for (const RowBlock& block : blocks) rows += block.rows;
  expect(task, "rows", work.m, rows);
  const std::int64_t all = l.side == Side::whole ? rows : task.c.tokens;
  const Purpose purpose = l.name == "output head" ? kLogits : kActivation;
  const Tensor y = first ? task.make(l.name, all * piece.of, purpose) : task.read(l.name);
  for (const RowBlock& block : blocks) {
    multiply(task, l, piece, block, y.part(block.begin * piece.of, block.rows * piece.of));
  }
  if (!last) return;
  if (ends_branch(l)) task.alias("branch", l.name);
  if (!gathers(task, l)) return;
  const bool keeps = task.rank.job.framework.keeps_gathered, by_shards = reduces_by_blocks(task);
  if (keeps && by_shards) join_shards(task, l.source, l.gathered());
  if (!keeps && !by_shards) task.erase(l.gathered());
}

void all_gather(Task& task, const std::string& from, const std::string& to) {
  const Tensor piece = task.read(from);
  const Tensor whole = task.make(to, piece.count * task.c.tp);
  expect_bytes(task, whole.count, task.c.element);
  task.backend.all_gather(task.group(), piece, whole);
}

Tensor reduced(Task& task, const Tensor& partial, std::string_view name, bool scatters) {
  expect_bytes(task, partial.count, task.c.element);
  const Tensor sum = task.make(name, scatters ? partial.count / task.c.tp : partial.count);
  if (scatters) {
    task.backend.reduce_scatter(task.group(), partial, sum);
  } else {
    task.backend.copy(partial, sum);
    task.backend.all_reduce(task.group(), Sum::add, sum);
  }
  return sum;
}

void reduce_output(Task& task, const Linear& l, bool scatters) {
  bool done = true;
  if (reduces_by_blocks(task)) {
    done = reduce_next_block(task, l.name);
  } else {
    reduced(task, task.read(l.name), l.name, scatters);
  }
  if (done && ends_branch(l)) task.alias("branch", l.name);
}

void gather_input(Task& task, const Linear& l) {
  if (reduces_by_blocks(task)) return gather_next_shard(task, l.source, l.gathered());
  all_gather(task, l.source, l.gathered());
}

void gather_output_gradient(Task& task, const Linear& l) {
  task.keep_gradient_stream("d branch piece");
  all_gather(task, task.has("d branch") ? "d branch" : "d branch piece", l.output_gradient());
}

/// The gradient of a row-parallel layer's output, where no collective has brought it, is what flows back.
Tensor output_gradient(Task& task, const Linear& l) {
  if (l.side == Side::row && !task.has(l.output_gradient())) {
    if (task.has("d branch")) {
      task.alias(l.output_gradient(), "d branch");
    } else {
      task.keep_gradient_stream(l.output_gradient());
    }
  }
  return task.read(l.output_gradient());
}

void input_gradient(Task& task, const Linear& l) {
  const auto& work = task.work<plan::Matmul>();
  const Piece piece = next_piece(task, l, work.k);
  const Tensor dy = output_gradient(task, l), w = task.weight(l.weight(task));
  const std::int64_t rows = dy.count / piece.of;
  expect(task, "rows", work.m, rows);
  expect(task, "inputs", work.n, piece.in);
  const std::string part = piece.whole() ? "" : " at " + std::to_string(piece.begin);
  const Tensor dx = task.make(gradient_name(l.source, l.name + part), rows * piece.in);
  task.backend.matmul(Matmul{rows, piece.in, piece.width}, cut_out(task, piece, rows, dy), piece.of_weight(w), dx);
}

void add_input_gradients(Task& task, const Linear& l) {
  const std::string prefix = gradient_name(l.source, l.name);
  Tensor sum;
  std::vector<Tensor> parts;
  for (const std::string& name : task.rank.values.names(task.site, prefix)) {
    parts.push_back(task.read(name));
    task.erase(name);
  }
  sum = task.make(prefix, parts.front().count);
  task.backend.fill(sum, 0);
  for (const Tensor& part : parts) task.backend.add(part, sum);
}

void reduce_input_gradient(Task& task, const Linear& l, bool scatters) {
  const std::string name = gradient_name(l.source, l.name);
  reduced(task, task.read(name), name, scatters);
}

/// Whether an operator of its own adds this layer's weight gradient to the sum over microbatches.
bool added_apart(const Task& task, const Linear& l) {
  const auto& names = task.rank.plan.names;
  return std::find(names.begin(), names.end(), l.name + " gradient accumulation") != names.end();
}

void weight_gradient(Task& task, const Linear& l) {
  const auto& work = task.work<plan::Matmul>();
  const Piece piece = next_piece(task, l, work.n);
  const Tensor dy = output_gradient(task, l), x = task.read(input_name(task, l));
  const std::int64_t rows = x.count / piece.in;
  expect(task, "rows", work.k, rows);
  expect(task, "inputs", work.m, piece.in);
  const bool apart = added_apart(task, l);
  Tensor dw;
  if (!apart) {
    dw = task.gradient(l.weight(task));
  } else if (piece.begin == 0) {
    dw = task.make(l.separate_gradient(), piece.of * piece.in);
  } else {
    dw = task.read(l.separate_gradient());
  }
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

void add_linear_actions(Actions& actions) {
  const std::array<Linear, 8> linears{{{"qkv", "attention norm", Side::column},
                                       {"attention output", "attention", Side::row},
                                       {"feed-forward up", "feed-forward norm", Side::column},
                                       {"feed-forward down", "activation", Side::row},
                                       {"shared expert up", "feed-forward norm", Side::column},
                                       {"shared expert down", "shared expert activation", Side::row},
                                       {"router", "feed-forward norm", Side::whole},
                                       {"output head", "final norm", Side::column}}};
  for (const Linear& l : linears) {
    actions[l.name] = [l](Task& t) { forward(t, l); };
    actions[l.name + " all-gather"] = [l](Task& t) { gather_input(t, l); };
    actions[l.name + " input all-gather"] = [l](Task& t) { all_gather(t, l.source, l.gathered()); };
    actions[l.name + " all-reduce"] = [l](Task& t) { reduce_output(t, l, false); };
    actions[l.name + " reduce-scatter"] = [l](Task& t) { reduce_output(t, l, true); };
    actions[l.name + " gradient all-gather"] = [l](Task& t) { gather_output_gradient(t, l); };
    actions[l.name + " input gradient"] = [l](Task& t) { input_gradient(t, l); };
    actions[l.name + " input gradients added"] = [l](Task& t) { add_input_gradients(t, l); };
    actions[l.name + " input gradient all-reduce"] = [l](Task& t) { reduce_input_gradient(t, l, false); };
    actions[l.name + " input gradient reduce-scatter"] = [l](Task& t) { reduce_input_gradient(t, l, true); };
    actions[l.name + " weight gradient"] = [l](Task& t) { weight_gradient(t, l); };
    actions[l.name + " gradient accumulation"] = [l](Task& t) { accumulate_gradient(t, l); };
    actions[l.name + " bias gradient"] = [l](Task& t) { bias_gradient(t, l); };
  }
}

}  // namespace real
