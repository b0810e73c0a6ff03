// real/executor/actions/expert_linear.cpp -- the matmuls of a rank's experts: grouped in the Plan, here one for each
// expert on the rows that came for it. Cut over Axis::etp by outputs (up) and inputs (down); a bias of "expert down" is
// added by the first rank alone. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "real/executor/actions/experts.h"
#include "real/executor/activation.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

using kernels::Matmul;

struct Linear {
  std::string name, input;  // and what it reads
  bool first;               // of the two: reads rows, the other one leaves them
  std::string weight() const { return name + ".weight"; }
  std::string bias() const { return name + ".bias"; }
};

/// One expert's rows and its part of the weights, which lie one expert behind the other.
struct Expert {
  std::int64_t index, begin, rows, in, out;
  Tensor inputs(const Tensor& x) const { return x.part(begin * in, rows * in); }
  Tensor outputs(const Tensor& y) const { return y.part(begin * out, rows * out); }
  Tensor of_weight(const Tensor& w) const { return w.part(index * out * in, out * in); }
  Tensor of_bias(const Tensor& b) const { return b.part(index * out, out); }
};

std::vector<Expert> experts_of(Task& task, const Linear& l) {
  const Part& part = task.parameter(l.weight()).part;
  const Routing& routing = routing_of(task);
  const std::int64_t in = part.columns.length, out = part.row_count() / routing.local;
  std::vector<Expert> experts;
  std::int64_t begin = 0;
  for (const std::int64_t rows : routing.of_experts()) {
    experts.push_back({static_cast<std::int64_t>(experts.size()), begin, rows, in, out});
    begin += rows;
  }
  std::erase_if(experts, [](const Expert& e) { return e.rows == 0; });
  return experts;
}

std::int64_t output_count(Task& task, const Linear& l) {
  return routing_of(task).rows_gathered() * task.parameter(l.weight()).part.row_count() / routing_of(task).local;
}

void forward(Task& task, const Linear& l) {
  if (l.first) task.alias(l.input, "rows");
  const Tensor x = task.read(l.input), w = task.weight(l.weight()), bias = task.weight(l.bias());
  const Tensor y = task.make(l.name, output_count(task, l));
  const bool adds_bias = bias && (l.first || task.rank.place.coordinate(plan::Axis::etp) == 0);
  for (const Expert& e : experts_of(task, l)) {
    task.backend.matmul(Matmul{e.rows, e.out, e.in, false, true}, e.inputs(x), e.of_weight(w), e.outputs(y));
    if (adds_bias) task.backend.add_rows(e.rows, e.of_bias(bias), e.outputs(y));
  }
  if (!l.first) task.alias("rows", l.name);
}

Tensor output_gradient(Task& task, const Linear& l) {
  const std::string name = "d " + l.name;
  if (!l.first && !task.has(name)) task.alias(name, "d rows");
  return task.read(name);
}

void input_gradient(Task& task, const Linear& l) {
  const Tensor dy = output_gradient(task, l), w = task.weight(l.weight()), x = task.read(l.input);
  const Tensor dx = task.make(l.first ? "d rows" : gradient_name(l.input, l.name), x.count);
  for (const Expert& e : experts_of(task, l)) {
    task.backend.matmul(Matmul{e.rows, e.in, e.out}, e.outputs(dy), e.of_weight(w), e.inputs(dx));
  }
}

bool added_apart(const Task& task, const Linear& l) {
  const auto& names = task.rank.plan.names;
  return std::find(names.begin(), names.end(), l.name + " gradient accumulation") != names.end();
}

void weight_gradient(Task& task, const Linear& l) {
  const Tensor dy = output_gradient(task, l), x = task.read(l.input);
  const bool apart = added_apart(task, l);
  Parameter& weight = task.parameter(l.weight());
  const Tensor dw = apart ? task.make(l.name + " weight gradient", weight.count()) : task.gradient(weight);
  if (apart) task.backend.fill(dw, 0);
  for (const Expert& e : experts_of(task, l)) {
    task.backend.matmul(Matmul{e.out, e.in, e.rows, true, false, 1, 1}, e.outputs(dy), e.inputs(x), e.of_weight(dw));
  }
}

void accumulate_gradient(Task& task, const Linear& l) {
  task.backend.add(task.read(l.name + " weight gradient"), task.gradient(l.weight()));
}

void bias_gradient(Task& task, const Linear& l) {
  const Tensor dy = output_gradient(task, l), db = task.gradient(l.bias());
  for (const Expert& e : experts_of(task, l)) task.backend.sum_rows(e.rows, e.outputs(dy), e.of_bias(db));
}

std::int64_t inner_width(Task& task) { return task.parameter("expert down.weight").part.columns.length; }

void activate(Task& task) {
  const Tensor x = task.read("expert up");
  const std::int64_t width = inner_width(task), rows = routing_of(task).rows_gathered();
  const Tensor y = task.make("expert activation", rows * width);
  if (task.c.model.gated_mlp) {
    task.backend.swiglu_forward({rows, width}, x, y);
  } else {
    plain_forward(task, x, y);
  }
}

void activate_backward(Task& task) {
  const Tensor x = task.read("expert up"), dy = whole_gradient(task, "expert activation");
  const Tensor dx = task.make("d expert up", x.count);
  if (task.c.model.gated_mlp) {
    task.backend.swiglu_backward({routing_of(task).rows_gathered(), inner_width(task)}, x, dy, dx);
  } else {
    plain_backward(task, x, dy, dx);
  }
}

}  // namespace

void add_expert_linear_actions(Actions& actions) {
  const std::array<Linear, 2> linears{
      {{"expert up", "expert rows", true}, {"expert down", "expert activation", false}}};
  for (const Linear& l : linears) {
    actions[l.name] = [l](Task& t) { forward(t, l); };
    actions[l.name + " input gradient"] = [l](Task& t) { input_gradient(t, l); };
    actions[l.name + " weight gradient"] = [l](Task& t) { weight_gradient(t, l); };
    actions[l.name + " gradient accumulation"] = [l](Task& t) { accumulate_gradient(t, l); };
    actions[l.name + " bias gradient"] = [l](Task& t) { bias_gradient(t, l); };
  }
  actions["expert activation"] = activate;
  actions["expert activation gradient"] = activate_backward;
}

}  // namespace real
