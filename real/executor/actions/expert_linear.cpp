// real/executor/actions/expert_linear.cpp -- the grouped matmuls of a rank's experts, each on the rows that came for
// it. Cut over Axis::etp by outputs (up) and inputs (down); a bias of "expert down" is added by the first rank alone.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "core/plan/low_precision.h"
#include "real/executor/actions/experts.h"
#include "real/executor/actions/fp8_weights.h"
#include "real/executor/actions/narrow_experts.h"
#include "real/executor/activation.h"
#include "real/executor/gradients.h"

namespace real {

using kernels::GroupedMatmul;
using Pass = GroupedMatmul::Pass;

namespace {

struct ExpertProjection {
  std::string name, input;  // and what it reads
  bool first;               // of the two: reads rows, the other one leaves them
  std::string weight() const { return name + ".weight"; }
  std::string bias() const { return name + ".bias"; }
};

/// Calls body(rows, of_y, of_bias) for each expert that has rows, with its part of y and of its bias.
template <class Body>
void for_each_expert(Task& task, const ExpertProjection& l, const Tensor& y, const Tensor& bias, Body body) {
  const GroupedMatmul g = grouped(task, l.weight(), Pass::forward);
  std::int64_t begin = 0, number = 0;
  for (const std::int64_t rows : g.rows) {
    if (rows > 0) body(rows, y.part(begin * g.out, rows * g.out), bias.part(number * g.out, g.out));
    begin += rows;
    ++number;
  }
}

/// Below 16 bits the operands are cast already.
void multiply(Task& task, const ExpertProjection& l, const GroupedMatmul& g, const Tensor& a, const Tensor& b,
              const Tensor& result) {
  if (plan::narrow(task.c, task.op.layer)) return narrow_grouped_matmul(task, l.name, g, result);
  task.backend.grouped_matmul(g, a, b, result);
}

Tensor input_of(Task& task, const ExpertProjection& l) {
  if (l.first && task.op.phase != plan::Phase::backward) {
    find_received(task);
    task.alias(l.input, "rows");
  }
  return task.read(l.input);
}

void forward(Task& task, const ExpertProjection& l) {
  const Tensor x = input_of(task, l), w = task.weight(l.weight()), bias = task.weight(l.bias());
  const GroupedMatmul g = grouped(task, l.weight(), Pass::forward);
  const Tensor y = task.make(l.name, routing_of(task).rows_gathered() * g.out);
  multiply(task, l, g, x, w, y);
  if (bias && (l.first || task.rank.place.coordinate(plan::Axis::etp) == 0)) {
    for_each_expert(task, l, y, bias, [&](std::int64_t rows, const Tensor& of_y, const Tensor& of_bias) {
      task.backend.add_rows(rows, of_bias, of_y);
    });
  }
  if (!l.first) task.alias("rows", l.name);
}

Tensor output_gradient(Task& task, const ExpertProjection& l) {
  const std::string name = "d " + l.name;
  if (!l.first && !task.has(name)) task.alias(name, "d rows");
  return task.read(name);
}

void input_gradient(Task& task, const ExpertProjection& l) {
  const Tensor dy = output_gradient(task, l), w = task.weight(l.weight()), x = task.read(l.input);
  const Tensor dx = task.make(l.first ? "d rows" : gradient_name(l.input, l.name), x.count);
  multiply(task, l, grouped(task, l.weight(), Pass::input_gradient), dy, w, dx);
}

bool added_apart(const Task& task, const ExpertProjection& l) {
  const auto& names = task.rank.plan.names;
  return std::find(names.begin(), names.end(), l.name + " gradient accumulation") != names.end();
}

void weight_gradient(Task& task, const ExpertProjection& l) {
  const Tensor dy = output_gradient(task, l), x = task.read(l.input);
  const bool apart = added_apart(task, l);
  Parameter& weight = task.parameter(l.weight());
  const Tensor dw = apart ? task.make(l.name + " weight gradient", weight.count()) : task.gradient(weight);
  GroupedMatmul g = grouped(task, l.weight(), Pass::weight_gradient);
  g.adds = !apart;
  multiply(task, l, g, dy, x, dw);
}

void accumulate_gradient(Task& task, const ExpertProjection& l) {
  task.backend.add(task.read(l.name + " weight gradient"), task.gradient(l.weight()));
}

void bias_gradient(Task& task, const ExpertProjection& l) {
  const Tensor dy = output_gradient(task, l), db = task.gradient(l.bias());
  for_each_expert(task, l, dy, db, [&](std::int64_t rows, const Tensor& of_dy, const Tensor& of_db) {
    task.backend.sum_rows(rows, of_dy, of_db);
  });
}

std::int64_t inner_width(Task& task) { return task.parameter("expert down.weight").part.columns.length; }

void activate_experts(Task& task) {
  const Tensor x = task.read("expert up");
  const std::int64_t width = inner_width(task);
  activation_forward(task, width, x, task.make("expert activation", routing_of(task).rows_gathered() * width));
}

void activate_experts_backward(Task& task) {
  const Tensor x = task.read("expert up"), dy = whole_gradient(task, "expert activation");
  activation_backward(task, inner_width(task), x, dy, task.make("d expert up", x.count));
}

}  // namespace

GroupedMatmul grouped(Task& task, const std::string& parameter, Pass pass) {
  const Part& part = task.parameter(parameter).part;
  const Routing& routing = routing_of(task);
  return {pass, part.columns.length, part.row_count() / routing.local, routing.of_experts()};
}

void add_expert_linear_actions(Actions& actions) {
  const std::array<ExpertProjection, 2> linears{
      {{"expert up", "expert rows", true}, {"expert down", "expert activation", false}}};
  for (const ExpertProjection& l : linears) {
    actions[l.name] = [l](Task& t) { forward(t, l); };
    actions[l.name + " input gradient"] = [l](Task& t) { input_gradient(t, l); };
    actions[l.name + " input gradients added"] = [](Task&) {};  // the halves are one matmul here
    actions[l.name + " weight gradient"] = [l](Task& t) { weight_gradient(t, l); };
    actions[l.name + " gradient accumulation"] = [l](Task& t) { accumulate_gradient(t, l); };
    actions[l.name + " bias gradient"] = [l](Task& t) { bias_gradient(t, l); };
    const auto cast = [&](const char* what, Operand operand, Tensor (*of)(Task&, const ExpertProjection&)) {
      actions[l.name + ' ' + what] = [=](Task& t) {
        cast_of_experts(t, l.name, grouped(t, l.weight(), Pass::forward), operand, of(t, l));
      };
    };
    cast("input cast", Operand::input, input_of);
    actions[l.name + " weight cast"] = [l](Task& t) {
      cast_of_experts(t, l.name, grouped(t, l.weight(), Pass::forward), Operand::weight, t.weight(l.weight()));
      let_go_when_cast(t.parameter(l.weight()));
    };
    actions[l.name + " weight transpose"] = [l](Task& t) {
      const GroupedMatmul g = grouped(t, l.weight(), Pass::forward);
      turn_weights_of_experts(t, l.name, g);
    };
    cast("gradient cast", Operand::gradient, output_gradient);
  }
  actions["expert activation"] = activate_experts;
  actions["expert activation gradient"] = activate_experts_backward;
}

}  // namespace real
