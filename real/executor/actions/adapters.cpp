// real/executor/actions/adapters.cpp -- low-rank adapters beside frozen linear layers (core/plan/lora.h):
// y = W x + B (A x). A is [rank, in], B [out, rank]; "inner" is A x of every row, all of its numbers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "core/plan/adapters.h"
#include "real/executor/actions/linear.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

using kernels::Matmul;

std::string of(const Linear& l, const char* what) { return l.name + " adapter " + what; }

std::int64_t rank_of(const Task& task) { return task.c.strategy.lora->rank; }

/// Between a piece from each rank, [rows, width] each, and rows that have all of them.
void relay(Task& task, bool to_rows, std::int64_t rows, const Tensor& from, const Tensor& to) {
  const std::int64_t pieces = task.c.tp, width = from.count / (pieces * rows);
  const std::array<std::int64_t, 4> by_rank{0, rows * width, width, 1}, by_row{0, width, pieces * width, 1};
  task.backend.strided_copy({.size = {1, pieces, rows, width},
                             .from_stride = to_rows ? by_rank : by_row,
                             .to_stride = to_rows ? by_row : by_rank},
                            from, to);
}

void forward_a(Task& task, const Linear& l) {
  const Part& a = task.parameter(of(l, "A.weight")).part;
  const Tensor x = task.read(input_name(task, l));
  const std::int64_t rows = x.count / a.columns.length, width = a.row_count();
  expect(task, "columns", task.work<plan::Matmul>().n, width);
  const Tensor y = task.make(of(l, "inner"), rows * width);
  task.backend.matmul(Matmul{rows, width, a.columns.length, false, true}, x, task.weight(of(l, "A.weight")), y);
}

/// Every rank has made some columns for all rows.
void gather_inner(Task& task, const Linear& l) {
  const Tensor piece = task.read(of(l, "inner"));
  const Tensor pieces = task.backend.allocate(piece.count * task.c.tp);
  expect_bytes(task, pieces.count, task.c.element);
  task.backend.all_gather(task.group(), piece, pieces);
  relay(task, true, task.c.tokens, pieces, task.make(of(l, "inner"), pieces.count));
}

void forward_b(Task& task, const Linear& l) {
  const Tensor inner = task.read(of(l, "inner"));
  const std::int64_t rank = rank_of(task), rows = inner.count / rank;
  const std::int64_t out = task.parameter(of(l, "B.weight")).part.row_count();
  expect(task, "columns", task.work<plan::Matmul>().n, out);
  const Tensor y = task.make(of(l, "output"), rows * out);
  task.backend.matmul(Matmul{rows, out, rank, false, true}, inner, task.weight(of(l, "B.weight")), y);
}

/// Some columns of all rows become all columns of this rank's rows, or of all.
void join_columns(Task& task, const Linear& l, bool own_rows) {
  const Tensor piece = task.read(of(l, "output"));
  const std::int64_t rows = own_rows ? task.c.shard_tokens : task.c.tokens;
  const Tensor pieces = task.backend.allocate(own_rows ? piece.count : piece.count * task.c.tp);
  expect_bytes(task, pieces.count, task.c.element);
  if (own_rows) {
    const std::vector<std::int64_t> each(task.c.tp, piece.count / task.c.tp);
    task.backend.all_to_all(task.group(), each, piece, each, pieces);
  } else {
    task.backend.all_gather(task.group(), piece, pieces);
  }
  relay(task, true, rows, pieces, task.make(of(l, "output"), pieces.count));
}

void add_output(Task& task, const Linear& l) {
  task.backend.add(task.read(of(l, "output")), task.update(l.layer()));
  if (ends_branch(task, l)) task.alias("branch", l.layer());
  if (gathers(task, l) && !keeps_input(task, l)) task.erase(l.gathered(task));
  task.erase(of(l, "output"));
}

/// The columns of the output's gradient that this rank's part of B makes.
Tensor output_gradient_of_b(Task& task, const Linear& l) {
  const Tensor dy = output_gradient(task, l);
  if (l.side != Side::row || task.c.tp == 1) return dy;
  const Part& b = task.parameter(of(l, "B.weight")).part;
  const std::int64_t width = b.row_count(), rows = dy.count / b.whole_rows, first = b.rows[0].begin;
  const Tensor out = task.backend.allocate(rows * width);
  task.backend.strided_copy(kernels::row_pieces(rows, width, b.whole_rows, width), dy.part(first, dy.count - first),
                            out);
  return out;
}

void input_gradient_b(Task& task, const Linear& l) {
  const std::int64_t out = task.parameter(of(l, "B.weight")).part.row_count(), rank = rank_of(task);
  const Tensor dy = output_gradient_of_b(task, l);
  const Tensor d = task.make("d " + of(l, "inner"), dy.count / out * rank);
  expect(task, "inputs", task.work<plan::Matmul>().k, out);
  task.backend.matmul(Matmul{dy.count / out, rank, out}, dy, task.weight(of(l, "B.weight")), d);
}

/// Each rank's outputs have used all of "inner"; a column-parallel A needs the gradient of its own columns.
void reduce_inner(Task& task, const Linear& l, bool scatters) {
  const std::string name = "d " + of(l, "inner");
  const Tensor partial = task.read(name);
  if (!scatters) {
    reduced(task, partial, name, false);
    return;
  }
  const Tensor pieces = task.backend.allocate(partial.count);
  relay(task, false, task.c.tokens, partial, pieces);
  reduced(task, pieces, name, true);
}

void input_gradient_a(Task& task, const Linear& l) {
  const Part& a = task.parameter(of(l, "A.weight")).part;
  const Tensor d = task.read("d " + of(l, "inner"));
  const std::int64_t rows = d.count / a.row_count(), in = a.columns.length;
  const Tensor dx = task.make("d " + of(l, "input"), rows * in);
  task.backend.matmul(Matmul{rows, in, a.row_count()}, d, task.weight(of(l, "A.weight")), dx);
}

void add_input_gradient(Task& task, const Linear& l) {
  const Tensor dx = task.read("d " + of(l, "input"));
  task.backend.add(dx, task.update(gradient_name(l.input(task), l.name)));
  task.erase("d " + of(l, "input"));
}

std::string separate(const Linear& l, const char* which) { return of(l, which) + " gradient"; }

/// d (weights [n, k]) += dy^T x, or apart from them where an operator of its own adds it.
void weight_gradient(Task& task, const Linear& l, const char* which, const Tensor& dy, const Tensor& x) {
  const auto& names = task.rank.plan.names;
  const bool apart = std::find(names.begin(), names.end(), of(l, "gradient accumulation")) != names.end();
  const Part& part = task.parameter(of(l, which)).part;
  const std::int64_t n = part.row_count(), k = part.columns.length;
  const Tensor dw = apart ? task.make(separate(l, which), n * k) : task.gradient(of(l, which));
  task.backend.matmul(Matmul{n, k, x.count / k, true, false, 1, apart ? 0.0 : 1.0}, dy, x, dw);
}

/// Of the matrix whose gradient has just been made.
void accumulate_gradient(Task& task, const Linear& l) {
  for (const char* which : {"A.weight", "B.weight"}) {
    if (!task.has(separate(l, which))) continue;
    task.backend.add(task.read(separate(l, which)), task.gradient(of(l, which)));
    task.erase(separate(l, which));
  }
}

void add_actions(Actions& actions, const Linear& l) {
  actions[of(l, "A")] = [l](Task& t) { forward_a(t, l); };
  actions[of(l, "all-gather")] = [l](Task& t) { gather_inner(t, l); };
  actions[of(l, "all-reduce")] = [l](Task& t) { reduced(t, t.read(of(l, "inner")), of(l, "inner"), false); };
  actions[of(l, "B")] = [l](Task& t) { forward_b(t, l); };
  actions[of(l, "all-to-all")] = [l](Task& t) { join_columns(t, l, true); };
  actions[of(l, "output all-gather")] = [l](Task& t) { join_columns(t, l, false); };
  actions[of(l, "add")] = [l](Task& t) { add_output(t, l); };
  actions[of(l, "B input gradient")] = [l](Task& t) { input_gradient_b(t, l); };
  actions[of(l, "B weight gradient")] = [l](Task& t) {
    weight_gradient(t, l, "B.weight", output_gradient_of_b(t, l), t.read(of(l, "inner")));
  };
  actions[of(l, "gradient reduce-scatter")] = [l](Task& t) { reduce_inner(t, l, true); };
  actions[of(l, "gradient all-reduce")] = [l](Task& t) { reduce_inner(t, l, false); };
  actions[of(l, "A input gradient")] = [l](Task& t) { input_gradient_a(t, l); };
  actions[of(l, "A weight gradient")] = [l](Task& t) {
    weight_gradient(t, l, "A.weight", t.read("d " + of(l, "inner")), t.read(input_name(t, l)));
  };
  actions[of(l, "gradient add")] = [l](Task& t) { add_input_gradient(t, l); };
  actions[of(l, "gradient accumulation")] = [l](Task& t) { accumulate_gradient(t, l); };
}

}  // namespace

void add_adapter_actions(Actions& actions) {
  for (const Linear& l : linears()) {
    if (plan::is_target({l.name})) add_actions(actions, l);
  }
}

}  // namespace real
