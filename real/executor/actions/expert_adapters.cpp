// real/executor/actions/expert_adapters.cpp -- low-rank adapters beside the frozen linear layers of experts
// (core/plan/lora.h). Each expert has a pair of its own, so those of a rank's experts are grouped matmuls over the rows
// that came for each. All ranks of Axis::etp have the same rows, and what they leave is summed behind the layer:
//
//   "expert up"    A is cut by rows, so ranks gather "inner"; B is cut with the outputs
//   "expert down"  A is cut with the inputs, so ranks sum "inner"; B is cut by rows, so each adds some columns to its
//                  share of the sum
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "real/executor/actions/adapters.h"
#include "real/executor/actions/experts.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

using kernels::GroupedMatmul;
using Pass = GroupedMatmul::Pass;

struct Layer {
  std::string name, input;
  bool up;  // of the two
  std::string of(const char* what) const { return of_adapter(name, what); }
  std::string output_gradient() const { return "d " + name; }
  std::string input_gradient() const { return up ? "d rows" : gradient_name(input, name); }
};

/// Of a matmul with A or B, whose sizes are the Plan's but for the rows. It has W [in, out], so dW of `in` rows.
GroupedMatmul grouped_with(Task& task, const Layer& l, const char* which, Pass pass) {
  const GroupedMatmul g = grouped(task, l.of(which), pass);
  const auto& work = task.work<plan::Matmul>();
  expect(task, "columns", work.n, pass == Pass::input_gradient ? g.in : g.out);
  if (pass == Pass::weight_gradient) {
    expect(task, "rows", work.m, g.in);
  } else {
    expect(task, "inputs", work.k, pass == Pass::forward ? g.in : g.out);
  }
  return g;
}

ColumnPieces pieces_of_inner(Task& task) {
  const std::int64_t ranks = task.c.strategy.etp;
  return {ranks, routing_of(task).rows_gathered(), adapter_rank(task) / ranks};
}

/// Those of the layer's outputs that this rank's part of B makes.
Columns columns_of_b(Task& task, const Layer& l) {
  const Part& b = task.parameter(l.of("B.weight")).part;
  return {routing_of(task).rows_gathered(), task.c.hidden, b.rows.front().begin % task.c.hidden,
          b.row_count() / routing_of(task).local};
}

bool makes_some_columns(const Task& task, const Layer& l) { return !l.up && task.c.strategy.etp > 1; }

void forward_a(Task& task, const Layer& l) {
  const GroupedMatmul g = grouped_with(task, l, "A.weight", Pass::forward);
  const Tensor x = task.read(l.input), a = task.weight(l.of("A.weight"));
  task.backend.grouped_matmul(g, x, a, task.make(l.of("inner"), routing_of(task).rows_gathered() * g.out));
}

/// Every rank has made some columns for all rows.
void gather_inner(Task& task, const Layer& l) {
  const Tensor piece = task.read(l.of("inner")), pieces = task.backend.allocate(piece.count * task.c.strategy.etp);
  expect_bytes_of_rows(task, pieces.count);
  task.backend.all_gather(task.group(), piece, pieces);
  join_pieces(task, pieces_of_inner(task), pieces, task.make(l.of("inner"), pieces.count));
}

void sum_over_ranks(Task& task, const std::string& name) {
  const Tensor partial = task.read(name), sum = task.make(name, partial.count);
  expect_bytes_of_rows(task, sum.count);
  task.backend.copy(partial, sum);
  task.backend.all_reduce(task.group(), Sum::add, sum);
}

void forward_b(Task& task, const Layer& l) {
  const GroupedMatmul g = grouped_with(task, l, "B.weight", Pass::forward);
  const Tensor inner = task.read(l.of("inner")), b = task.weight(l.of("B.weight"));
  task.backend.grouped_matmul(g, inner, b, task.make(l.of("output"), routing_of(task).rows_gathered() * g.out));
}

void add_output(Task& task, const Layer& l) {
  const Tensor own = task.read(l.of("output")), y = task.update(l.name);
  if (makes_some_columns(task, l)) {
    const Columns columns = columns_of_b(task, l);
    const Tensor sum = taken_columns(task, columns, y);
    task.backend.add(own, sum);
    put_columns(task, columns, sum, y);
  } else {
    task.backend.add(own, y);
  }
  if (!l.up) task.alias("rows", l.name);  // they are written anew
  task.erase(l.of("output"));
}

Tensor output_gradient_of_b(Task& task, const Layer& l) {
  const Tensor dy = task.read(l.output_gradient());
  return makes_some_columns(task, l) ? taken_columns(task, columns_of_b(task, l), dy) : dy;
}

void input_gradient_b(Task& task, const Layer& l) {
  const GroupedMatmul g = grouped_with(task, l, "B.weight", Pass::input_gradient);
  const std::string scaled = "d " + l.of("output");
  const bool scales = task.has(scaled);
  const Tensor dy = scales ? task.read(scaled) : output_gradient_of_b(task, l), b = task.weight(l.of("B.weight"));
  const std::int64_t count = routing_of(task).rows_gathered() * g.in;
  task.backend.grouped_matmul(g, dy, b, task.make("d " + l.of("inner"), count));
  if (scales) task.erase(scaled);
}

/// Each rank's outputs have used all of "inner"; its part of A needs the gradient of its own columns.
void scatter_inner_gradient(Task& task, const Layer& l) {
  const std::string name = "d " + l.of("inner");
  const Tensor partial = task.read(name), pieces = task.backend.allocate(partial.count);
  expect_bytes_of_rows(task, partial.count);
  part_rows(task, pieces_of_inner(task), partial, pieces);
  task.backend.reduce_scatter(task.group(), pieces, task.make(name, partial.count / task.c.strategy.etp));
}

void input_gradient_a(Task& task, const Layer& l) {
  const GroupedMatmul g = grouped_with(task, l, "A.weight", Pass::input_gradient);
  const Tensor d = task.read("d " + l.of("inner")), a = task.weight(l.of("A.weight"));
  task.backend.grouped_matmul(g, d, a, task.make("d " + l.of("input"), routing_of(task).rows_gathered() * g.in));
}

void add_input_gradient(Task& task, const Layer& l) {
  task.backend.add(task.read("d " + l.of("input")), task.update(l.input_gradient()));
  task.erase("d " + l.of("input"));
}

void weight_gradient(Task& task, const Layer& l, const char* which, const Tensor& dy, const Tensor& x) {
  GroupedMatmul g = grouped_with(task, l, which, Pass::weight_gradient);
  const AdapterGradient dw = adapter_gradient(task, l.name, which);
  g.adds = dw.adds;
  task.backend.grouped_matmul(g, dy, x, dw.tensor);
}

void add_actions(Actions& actions, const Layer& l) {
  actions[l.of("A")] = [l](Task& t) { forward_a(t, l); };
  actions[l.of("all-gather")] = [l](Task& t) { gather_inner(t, l); };
  actions[l.of("all-reduce")] = [l](Task& t) { sum_over_ranks(t, l.of("inner")); };
  actions[l.of("B")] = [l](Task& t) { forward_b(t, l); };
  actions[l.of("scale")] = [l](Task& t) { scale_adapter(t, t.read(l.of("output")), l.of("output")); };
  actions[l.of("add")] = [l](Task& t) { add_output(t, l); };
  actions[l.of("gradient scale")] = [l](Task& t) {
    scale_adapter(t, output_gradient_of_b(t, l), "d " + l.of("output"));
  };
  actions[l.of("B input gradient")] = [l](Task& t) { input_gradient_b(t, l); };
  actions[l.of("B weight gradient")] = [l](Task& t) {
    weight_gradient(t, l, "B.weight", output_gradient_of_b(t, l), t.read(l.of("inner")));
  };
  actions[l.of("gradient reduce-scatter")] = [l](Task& t) { scatter_inner_gradient(t, l); };
  actions[l.of("gradient all-reduce")] = [l](Task& t) { sum_over_ranks(t, "d " + l.of("inner")); };
  actions[l.of("A input gradient")] = [l](Task& t) { input_gradient_a(t, l); };
  actions[l.of("A weight gradient")] = [l](Task& t) {
    weight_gradient(t, l, "A.weight", t.read("d " + l.of("inner")), t.read(l.input));
  };
  actions[l.of("gradient add")] = [l](Task& t) { add_input_gradient(t, l); };
  actions[l.of("gradient accumulation")] = [l](Task& t) { accumulate_adapter_gradient(t, l.name); };
}

}  // namespace

void add_expert_adapter_actions(Actions& actions) {
  add_actions(actions, {"expert up", "expert rows", true});
  add_actions(actions, {"expert down", "expert activation", false});
}

}  // namespace real
