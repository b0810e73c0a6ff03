// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/narrow.h"

#include <algorithm>

#include "core/plan/low_precision.h"
#include "core/plan/tensor_parallel.h"
#include "real/executor/actions/fp8_weights.h"

namespace real {
namespace {

using kernels::Matmul;

/// Widths of the parts of a layer's outputs that a framework multiplies one by one.
std::vector<std::int64_t> widths_of(const Task& task, const Linear& l, std::int64_t outputs) {
  plan::Linear linear;
  if (l.name == "qkv") linear = plan::qkv_linear(task.c);
  if (l.name == "feed-forward up") linear = plan::up_linear(task.c);
  std::vector<std::int64_t> out;
  for (const std::int64_t part : linear.parts) {
    if (part > 0) out.push_back(part);
  }
  return out.empty() ? std::vector{outputs} : out;
}

std::int64_t inputs_of(Task& task, const Linear& l) { return task.parameter(l.weight(task)).part.columns.length; }
std::int64_t outputs_of(Task& task, const Linear& l) { return task.parameter(l.weight(task)).part.row_count(); }

bool gathers_gradient(const Task& task, const Linear& l) { return l.side == Side::row && task.c.sp; }

/// A shard with one scale is cast in one layout: the other one is made behind the gather.
Layouts of_shard(const Task& task, Layouts layouts, bool scattered) {
  return scattered && has_one_scale(task) ? Layouts{true, false} : layouts;
}

void cast_shard_or_all(Task& task, const Linear& l, Layouts layouts) {
  const std::int64_t columns = inputs_of(task, l);
  const Tensor x = task.read(l.input(task));
  const bool scattered = gathers(task, l);
  cast(task, l.layer(), Operand::input, x, x.count / columns, {columns}, of_shard(task, layouts, scattered), scattered);
}

/// Where the gathered codes were kept, those that a backward would cast anew are the same, turned.
void cast_input(Task& task, const Linear& l) {
  const bool kept = gathers(task, l) && keeps_input(task, l) && task.op.phase == plan::Phase::backward;
  const Layouts layouts = layouts_of(task, Operand::input);
  if (!kept) return cast_shard_or_all(task, l, layouts);
  if (layouts.turned) turn_codes(task, l.layer(), Operand::input, task.c.tokens);
}

void cast_weight(Task& task, const Linear& l) {
  const std::int64_t rows = outputs_of(task, l);
  cast(task, l.layer(), Operand::weight, task.weight(l.weight(task)), rows, widths_of(task, l, rows),
       layouts_of(task, Operand::weight));
  let_go_when_cast(task.parameter(l.weight(task)));
}

void turn_weight(Task& task, const Linear& l) {
  turn_weight_codes(task, l.layer(), widths_of(task, l, outputs_of(task, l)));
}

void cast_gradient(Task& task, const Linear& l) {
  const Tensor dy = output_gradient(task, l);
  const std::int64_t columns = outputs_of(task, l);
  const bool scattered = gathers_gradient(task, l);
  cast(task, l.layer(), Operand::gradient, dy, dy.count / columns, widths_of(task, l, columns),
       of_shard(task, layouts_of(task, Operand::gradient), scattered), scattered);
}

/// A column-parallel layer's input is the shard on the way forward, a row-parallel layer's gradient on the way back.
Operand scattered_of(const Linear& l) { return l.side == Side::row ? Operand::gradient : Operand::input; }

void find_largest_of_shard(Task& task, const Linear& l) {
  const Tensor shard = l.side == Side::row ? output_gradient(task, l) : task.read(l.input(task));
  find_largest(task, l.layer(), scattered_of(l), shard);
}

/// Of what a norm or a gather left in one layout.
void turn_input(Task& task, const Linear& l) {
  turn_codes(task, l.layer(), Operand::input,
             Casts(task, l.layer(), Operand::input).read(" codes").count / inputs_of(task, l));
}

bool has_operator(const Task& task, const std::string& name) {
  return std::ranges::find(task.rank.plan.names, name) != task.rank.plan.names.end();
}

constexpr const char* kScales = " scales";

Ring ring_of(const Linear& l, const char* what) {
  return {l.layer() + " input shard codes" + what, input_codes_name(l) + what};
}

bool promotes(const Task& task) { return task.work<plan::Matmul>().gradient; }

/// Whether the codes of an input are read behind its forward.
bool keeps_codes(const Task& task, const Linear& l) {
  if (gathers(task, l)) return keeps_input(task, l);
  return plan::keeps_casts(task.c) && !task.c.strategy.lora;
}

}  // namespace

bool is_narrow(const Task& task) { return spec::bytes_of(task.work<plan::Matmul>().dtype) < 2; }

bool is_narrow_layer(const Task& task) { return plan::narrow(task.c, task.op.layer); }

/// A backward sums over the tokens.
void gather_input_codes(Task& task, const Linear& l) {
  const bool backward = task.op.phase == plan::Phase::backward;
  gather_codes(task, l.layer(), Operand::input, inputs_of(task, l), {!backward, backward});
}

void gather_gradient_codes(Task& task, const Linear& l) {
  gather_codes(task, l.layer(), Operand::gradient, outputs_of(task, l), layouts_of(task, Operand::gradient));
}

std::string input_codes_name(const Linear& l) { return l.layer() + " input codes"; }

std::vector<Ring> rings_of_codes(Task& task, const Linear& l) {
  std::vector<Ring> out{ring_of(l, "")};
  if (!has_one_scale(task)) out.push_back(ring_of(l, kScales));
  return out;
}

std::vector<RowBlock> narrow_column_blocks(Task& task, const Linear& l, std::int64_t number, std::int64_t width) {
  const auto of = [&](const char* what) {
    const auto [source, gathered] = ring_of(l, what);
    return column_blocks(task, number, source, gathered, width);
  };
  std::vector<RowBlock> out = of("");
  if (!has_one_scale(task)) out.front().scales = of(kScales).front().x;
  return out;
}

/// Tiles of scales of 128 rows lie one behind the other.
RowBlock narrow_row_block(Task& task, const Linear& l, std::int64_t number, std::int64_t width) {
  RowBlock out = row_block(task, number, input_codes_name(l), width);
  if (!has_one_scale(task)) {
    out.scales = task.read(input_codes_name(l) + kScales)
                     .part(kernels::mx_scales(out.begin, width), kernels::mx_scales(out.rows, width));
  }
  return out;
}

Tensor narrow_gradient(Task& task, const Linear& l) { return Casts(task, l.layer(), Operand::gradient).read(" codes"); }

Tensor narrow_input(Task& task, const Linear& l) {
  Casts input(task, l.layer(), Operand::input);
  return input.read(input.has(" turned") ? " turned" : " codes");
}

void narrow_forward(Task& task, const Linear& l, const Piece& piece, const RowBlock& x, const Tensor& y) {
  Casts input(task, l.layer(), Operand::input), weight(task, l.layer(), Operand::weight);
  const std::int64_t rows = y.count / piece.width, count = piece.width * piece.in;
  const Narrow codes = x.scales ? Narrow{x.x, x.scales, input.format(), input.scales()} : input.with_codes(x.x);
  task.backend.narrow_matmul(Matmul{rows, piece.width, piece.in, false, true}, codes,
                             weight.operand(" codes", piece.begin * piece.in, count), y, promotes(task));
}

void leave_casts(Task& task, const Linear& l) {
  if (!keeps_codes(task, l)) Casts(task, l.layer(), Operand::input).erase(" codes");
  if (!plan::keeps_weight_casts(task.c)) Casts(task, l.layer(), Operand::weight).erase(" codes");
}

void narrow_input_gradient(Task& task, const Linear& l, const Piece& piece, const Tensor& dx) {
  Casts gradient(task, l.layer(), Operand::gradient), weight(task, l.layer(), Operand::weight);
  const std::int64_t rows = dx.count / piece.in, count = piece.width * piece.in;
  const bool turned = weight.has(" turned");
  task.backend.narrow_matmul(Matmul{rows, piece.in, piece.width, false, turned},
                             gradient.operand(" codes", piece.begin * rows, rows * piece.width),
                             weight.operand(turned ? " turned" : " codes", piece.begin * piece.in, count), dx,
                             promotes(task));
  if (piece.last && turned && !plan::keeps_weight_casts(task.c)) weight.erase(" turned");
}

void narrow_weight_gradient(Task& task, const Linear& l, const Piece& piece, const Tensor& dw, bool adds) {
  Casts gradient(task, l.layer(), Operand::gradient), input(task, l.layer(), Operand::input);
  const bool turned = input.has(" turned");
  const char* const layout = turned ? " turned" : " codes";
  const std::int64_t inputs = input.read(layout).count, rows = inputs / piece.in;
  task.backend.narrow_matmul(Matmul{piece.width, piece.in, rows, !turned, turned, 1, adds ? 1.0 : 0.0},
                             gradient.operand(layout, piece.begin * rows, rows * piece.width),
                             input.operand(layout, 0, inputs), dw, promotes(task));
}

void cast_behind_norm(Task& task, const std::string& norm) {
  if (!is_narrow_layer(task)) return;
  for (const Linear& l : linears()) {
    if (l.input(task) != norm || task.find_parameter(l.weight(task)) == nullptr) continue;
    if (l.name == "router" || l.name == "output head" || has_operator(task, l.name + " input cast")) continue;
    cast_shard_or_all(task, l, {true, false});
  }
}

void add_narrow_actions(Actions& actions) {
  for (const Linear& l : linears()) {
    actions[l.name + " input cast"] = [l](Task& t) { cast_input(t, l); };
    actions[l.name + " weight cast"] = [l](Task& t) { cast_weight(t, l); };
    actions[l.name + " weight transpose"] = [l](Task& t) { turn_weight(t, l); };
    actions[l.name + " gradient cast"] = [l](Task& t) { cast_gradient(t, l); };
    actions[l.name + " input transpose"] = [l](Task& t) { turn_input(t, l); };
    actions[l.name + " gradient transpose"] = [l](Task& t) { turn_codes(t, l.layer(), Operand::gradient, t.c.tokens); };
    actions[l.name + " largest"] = [l](Task& t) { find_largest_of_shard(t, l); };
    actions[l.name + " largest all-reduce"] = [l](Task& t) { agree_on_largest(t, l.layer(), scattered_of(l)); };
  }
}

}  // namespace real
