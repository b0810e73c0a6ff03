// real/executor/actions/adapters.cpp -- low-rank adapters beside frozen linear layers (core/plan/lora.h), cut over
// tensor-parallel ranks as these are. Those of experts: expert_adapters.cpp. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "core/plan/adapters.h"
#include "real/executor/actions/adapters.h"
#include "real/executor/actions/linear.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

using kernels::Matmul;

/// A pair of A and B beside a linear layer, or beside one of the modules that a framework has for it
/// (plan::modules_of), which makes some of its columns.
struct Pair : Linear {
  std::string module;
};

std::string of(const Pair& l, const char* what) { return of_adapter(l.module, what); }

/// The columns of this rank's output, of `rows` rows, that a module beside a layer that is not cut by inputs makes.
Columns columns_of(Task& task, const Pair& l, std::int64_t rows) {
  const std::int64_t all = task.parameter(l.layer() + ".weight").part.row_count();
  const std::int64_t width = task.parameter(of(l, "B.weight")).part.row_count();
  if (l.module == "queries" || l.module == "feed-forward gate") return {rows, all, 0, width};
  if (l.module == "keys") return {rows, all, task.c.q_width, width};
  return {rows, all, all - width, width};
}

std::string separate(const std::string& linear, const char* which) { return of_adapter(linear, which) + " gradient"; }

/// The two orders of pieces: [pieces, rows, width] and [rows, pieces, width].
std::array<std::int64_t, 4> by_rank_strides(const ColumnPieces& p) { return {0, p.rows * p.width, p.width, 1}; }
std::array<std::int64_t, 4> by_row_strides(const ColumnPieces& p) { return {0, p.width, p.pieces * p.width, 1}; }

/// Adapters in fp32 read fp32, and autocast takes it back.
void to_fp32_and_back(Task& task, const Tensor& x, const std::string& name) {
  const Tensor wide = task.backend.allocate(x.count, kStatistic);
  task.backend.copy(x, wide);
  task.backend.copy(wide, task.make(name, x.count));
}

/// What A reads.
std::string a_input(const Task& task, const Pair& l) {
  const std::string own = of(l, "input");
  return task.has(own) ? own : input_name(task, l);
}

void forward_a(Task& task, const Pair& l) {
  const Part& a = task.parameter(of(l, "A.weight")).part;
  const Tensor x = task.read(a_input(task, l));
  const std::int64_t rows = x.count / a.columns.length, width = a.row_count();
  expect(task, "columns", task.work<plan::Matmul>().n, width);
  const Tensor y = task.make(of(l, "inner"), rows * width);
  task.backend.matmul(Matmul{rows, width, a.columns.length, false, true}, x, task.weight(of(l, "A.weight")), y);
}

/// Every rank has made some columns for all rows.
void gather_inner(Task& task, const Pair& l) {
  const Tensor piece = task.read(of(l, "inner"));
  const Tensor pieces = task.backend.allocate(piece.count * task.c.tp);
  expect_bytes(task, pieces.count, task.c.element);
  task.backend.all_gather(task.group(), piece, pieces);
  const ColumnPieces shape{task.c.tp, task.c.tokens, piece.count / task.c.tokens};
  join_pieces(task, shape, pieces, task.make(of(l, "inner"), pieces.count));
}

void forward_b(Task& task, const Pair& l) {
  const Tensor inner = task.read(of(l, "inner"));
  const std::int64_t rank = adapter_rank(task), rows = inner.count / rank;
  const std::int64_t out = task.parameter(of(l, "B.weight")).part.row_count();
  expect(task, "columns", task.work<plan::Matmul>().n, out);
  const Tensor y = task.make(of(l, "output"), rows * out);
  task.backend.matmul(Matmul{rows, out, rank, false, true}, inner, task.weight(of(l, "B.weight")), y);
}

/// Some columns of all rows become all columns of this rank's rows, or of all.
void join_columns(Task& task, const Pair& l, bool own_rows) {
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
  const ColumnPieces shape{task.c.tp, rows, pieces.count / (rows * task.c.tp)};
  join_pieces(task, shape, pieces, task.make(of(l, "output"), pieces.count));
}

void add_output(Task& task, const Pair& l) {
  const Tensor own = task.read(of(l, "output")), all = task.update(l.layer());
  bool last = true;
  if (own.count == all.count) {
    task.backend.add(own, all);
  } else {
    const std::int64_t width = task.parameter(of(l, "B.weight")).part.row_count();
    const Columns columns = columns_of(task, l, own.count / width);
    const Tensor sum = taken_columns(task, columns, all);
    task.backend.add(own, sum);
    put_columns(task, columns, sum, all);
    last = columns.first + columns.width == columns.of;
  }
  if (ends_branch(task, l)) task.alias("branch", l.layer());
  if (last && gathers(task, l) && !keeps_input(task, l)) task.erase(l.gathered(task));
  task.erase(of(l, "output"));
}

/// The columns of the output's gradient that this rank's part of B makes.
Tensor output_gradient_of_b(Task& task, const Pair& l) {
  const Tensor dy = output_gradient(task, l);
  const Part& b = task.parameter(of(l, "B.weight")).part;
  if (l.side == Side::row) {
    if (task.c.tp == 1) return dy;
    return taken_columns(task, {dy.count / b.whole_rows, b.whole_rows, b.rows[0].begin, b.row_count()}, dy);
  }
  const Columns columns = columns_of(task, l, dy.count / task.parameter(l.layer() + ".weight").part.row_count());
  return columns.width == columns.of ? dy : taken_columns(task, columns, dy);
}

void input_gradient_b(Task& task, const Pair& l) {
  const std::int64_t out = task.parameter(of(l, "B.weight")).part.row_count(), rank = adapter_rank(task);
  const std::string scaled = "d " + of(l, "output");
  const bool scales = task.has(scaled);
  const Tensor dy = scales ? task.read(scaled) : output_gradient_of_b(task, l);
  const Tensor d = task.make("d " + of(l, "inner"), dy.count / out * rank);
  expect(task, "inputs", task.work<plan::Matmul>().k, out);
  task.backend.matmul(Matmul{dy.count / out, rank, out}, dy, task.weight(of(l, "B.weight")), d);
  if (scales) task.erase(scaled);  // B's own gradient is made of the whole one, perhaps later
}

/// Each rank's outputs have used all of "inner"; a column-parallel A needs the gradient of its own columns.
void reduce_inner(Task& task, const Pair& l, bool scatters) {
  const std::string name = "d " + of(l, "inner");
  const Tensor partial = task.read(name);
  if (!scatters) {
    reduced(task, partial, name, false);
    return;
  }
  const Tensor pieces = task.backend.allocate(partial.count);
  part_rows(task, {task.c.tp, task.c.tokens, partial.count / (task.c.tokens * task.c.tp)}, partial, pieces);
  reduced(task, pieces, name, true);
}

void input_gradient_a(Task& task, const Pair& l) {
  const Part& a = task.parameter(of(l, "A.weight")).part;
  const Tensor d = task.read("d " + of(l, "inner"));
  const std::int64_t rows = d.count / a.row_count(), in = a.columns.length;
  const Tensor dx = task.make("d " + of(l, "input"), rows * in);
  task.backend.matmul(Matmul{rows, in, a.row_count()}, d, task.weight(of(l, "A.weight")), dx);
}

void add_input_gradient(Task& task, const Pair& l) {
  const Tensor dx = task.read("d " + of(l, "input"));
  task.backend.add(dx, task.update(gradient_name(l.input(task), l.name)));
  task.erase("d " + of(l, "input"));
}

void weight_gradient(Task& task, const Pair& l, const char* which, const Tensor& dy, const Tensor& x) {
  const Part& part = task.parameter(of(l, which)).part;
  const std::int64_t n = part.row_count(), k = part.columns.length;
  const AdapterGradient dw = adapter_gradient(task, l.module, which);
  task.backend.matmul(Matmul{n, k, x.count / k, true, false, 1, dw.adds ? 1.0 : 0.0}, dy, x, dw.tensor);
}

void add_actions(Actions& actions, const Pair& l) {
  actions[of(l, "input cast")] = [l](Task& t) { to_fp32_and_back(t, t.read(input_name(t, l)), of(l, "input")); };
  actions[of(l, "A")] = [l](Task& t) { forward_a(t, l); };
  actions[of(l, "all-gather")] = [l](Task& t) { gather_inner(t, l); };
  actions[of(l, "all-reduce")] = [l](Task& t) { reduced(t, t.read(of(l, "inner")), of(l, "inner"), false); };
  actions[of(l, "B")] = [l](Task& t) { forward_b(t, l); };
  actions[of(l, "all-to-all")] = [l](Task& t) { join_columns(t, l, true); };
  actions[of(l, "output all-gather")] = [l](Task& t) { join_columns(t, l, false); };
  actions[of(l, "scale")] = [l](Task& t) { scale_adapter(t, t.read(of(l, "output")), of(l, "output")); };
  actions[of(l, "add")] = [l](Task& t) { add_output(t, l); };
  actions[of(l, "gradient scale")] = [l](Task& t) {
    scale_adapter(t, output_gradient_of_b(t, l), "d " + of(l, "output"));
  };
  actions[of(l, "B input gradient")] = [l](Task& t) { input_gradient_b(t, l); };
  actions[of(l, "B weight gradient")] = [l](Task& t) {
    weight_gradient(t, l, "B.weight", output_gradient_of_b(t, l), t.read(of(l, "inner")));
  };
  actions[of(l, "gradient reduce-scatter")] = [l](Task& t) { reduce_inner(t, l, true); };
  actions[of(l, "gradient all-reduce")] = [l](Task& t) { reduce_inner(t, l, false); };
  actions[of(l, "A input gradient")] = [l](Task& t) { input_gradient_a(t, l); };
  actions[of(l, "A weight gradient")] = [l](Task& t) {
    weight_gradient(t, l, "A.weight", t.read("d " + of(l, "inner")), t.read(a_input(t, l)));
  };
  actions[of(l, "input gradient cast")] = [l](Task& t) {
    to_fp32_and_back(t, t.read("d " + of(l, "input")), "d " + of(l, "input"));
  };
  actions[of(l, "gradient add")] = [l](Task& t) { add_input_gradient(t, l); };
  actions[of(l, "gradient accumulation")] = [l](Task& t) { accumulate_adapter_gradient(t, l.module); };
}

}  // namespace

std::string of_adapter(const std::string& linear, const char* what) { return linear + " adapter " + what; }

std::int64_t adapter_rank(const Task& task) { return task.c.strategy.lora->rank; }

void scale_adapter(Task& task, const Tensor& x, const std::string& name) {
  task.backend.scale_add(1, x, 0, task.make(name, x.count));
}

void join_pieces(Task& task, const ColumnPieces& p, const Tensor& by_rank, const Tensor& by_row) {
  if (by_rank.count == 0) return;
  task.backend.strided_copy(
      {.size = {1, p.pieces, p.rows, p.width}, .from_stride = by_rank_strides(p), .to_stride = by_row_strides(p)},
      by_rank, by_row);
}

void part_rows(Task& task, const ColumnPieces& p, const Tensor& by_row, const Tensor& by_rank) {
  if (by_row.count == 0) return;
  task.backend.strided_copy(
      {.size = {1, p.pieces, p.rows, p.width}, .from_stride = by_row_strides(p), .to_stride = by_rank_strides(p)},
      by_row, by_rank);
}

Tensor taken_columns(Task& task, const Columns& c, const Tensor& from) {
  const Tensor out = task.backend.allocate(c.rows * c.width);
  if (out.count == 0) return out;
  task.backend.strided_copy(kernels::row_pieces(c.rows, c.width, c.of, c.width),
                            from.part(c.first, from.count - c.first), out);
  return out;
}

void put_columns(Task& task, const Columns& c, const Tensor& columns, const Tensor& to) {
  if (columns.count == 0) return;
  task.backend.strided_copy(kernels::row_pieces(c.rows, c.width, c.width, c.of), columns,
                            to.part(c.first, to.count - c.first));
}

AdapterGradient adapter_gradient(Task& task, const std::string& linear, const char* which) {
  Parameter& p = task.parameter(of_adapter(linear, which));
  const auto& names = task.rank.plan.names;
  if (std::find(names.begin(), names.end(), of_adapter(linear, "gradient accumulation")) == names.end()) {
    return {task.gradient(p), true};
  }
  return {task.make(separate(linear, which), p.count()), false};
}

void accumulate_adapter_gradient(Task& task, const std::string& linear) {
  for (const char* which : {"A.weight", "B.weight"}) {
    if (!task.has(separate(linear, which))) continue;
    task.backend.add(task.read(separate(linear, which)), task.gradient(of_adapter(linear, which)));
    task.erase(separate(linear, which));
  }
}

void add_adapter_actions(Actions& actions) {
  for (const Linear& l : linears()) {
    if (!plan::is_target({l.name})) continue;
    add_actions(actions, {l, l.name});
    for (const std::string_view module : plan::module_names(l.name)) {
      if (module != l.name) add_actions(actions, {l, std::string(module)});
    }
  }
  add_expert_adapter_actions(actions);
}

}  // namespace real
