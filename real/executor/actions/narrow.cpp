// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/narrow.h"

#include <algorithm>
#include <array>

#include "core/plan/low_precision.h"
#include "core/plan/tensor_parallel.h"

namespace real {
namespace {

using kernels::Cast;
using kernels::Fp8;
using kernels::Matmul;

enum class Operand { input, weight, gradient };

struct Layouts {
  bool codes, turned;
};

/// An operand's tensors, by name: those of weights live as long as their casts are kept, others with their microbatch.
class Casts {
 public:
  Casts(Task& task, const Linear& l, Operand operand) : task_(task), of_weight_(operand == Operand::weight) {
    constexpr std::array<const char*, 3> kNames{" input", " weight", " gradient"};
    name_ = l.layer() + kNames[static_cast<std::size_t>(operand)];
    mx_ = task.c.dtype == spec::Dtype::mxfp8;
    format_ = operand == Operand::gradient && !mx_ ? Fp8::e5m2 : Fp8::e4m3;
  }
  bool mx() const { return mx_; }
  Fp8 format() const { return format_; }
  /// Of all steps: the same for each microbatch.
  std::string history() const { return std::to_string(task_.op.layer) + ' ' + name_; }

  Tensor make(const std::string& what, std::int64_t count, Purpose purpose) {
    if (!of_weight_) return task_.make(name_ + what, count, purpose);
    if (purpose.meaning == Meaning::code) purpose = kWeightCodes;
    return task_.renew(task_.rank.narrow_weights[history() + what], count, purpose);
  }
  Tensor read(const std::string& what) {
    if (!of_weight_) return task_.read(name_ + what);
    return task_.read(task_.rank.narrow_weights.at(history() + what), name_ + what);
  }
  bool has(const std::string& what) const {
    if (!of_weight_) return task_.has(name_ + what);
    return task_.rank.narrow_weights.contains(history() + what);
  }
  void erase(const std::string& what) {
    of_weight_ ? void(task_.rank.narrow_weights.erase(history() + what)) : task_.erase(name_ + what);
  }
  Narrow operand(const std::string& layout, std::int64_t begin, std::int64_t count) {
    return {read(layout).part(begin, count), read(mx_ ? layout + " scales" : " scale"), format_, mx_};
  }

 private:
  Task& task_;
  bool of_weight_;
  std::string name_;
  Fp8 format_;
  bool mx_;
};

/// Where casts are not kept each pass makes the layout that it multiplies; a gradient's serve one pass in any case.
Layouts layouts_of(const Task& task, Operand operand) {
  const bool weight = operand == Operand::weight;
  if ((weight ? plan::weight_layouts(task.c) : plan::operand_layouts(task.c)) == 1) return {true, false};
  const bool kept = weight ? plan::keeps_weight_casts(task.c) : plan::keeps_casts(task.c);
  if (kept || operand == Operand::gradient) return {true, true};
  const bool backward = task.op.phase == plan::Phase::backward;
  return {!backward, backward};
}

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

bool delayed(const Task& task) { return task.rank.job.training.fp8_recipe == "delayed"; }

/// Leaves the scale; returns what is to take in the largest magnitude that the casts see, if it is wanted.
Tensor scale(Task& task, Casts& casts, const Tensor& x) {
  const Tensor scale = casts.make(" scale", 1, kStatistic);
  if (!delayed(task)) {
    const Tensor magnitude = task.backend.allocate(1, kStatistic);
    task.backend.fill(magnitude, 0);
    task.backend.largest_magnitude(x, magnitude);
    task.backend.scale_for(casts.format(), magnitude, scale);
    return {};
  }
  Magnitudes& seen = task.rank.magnitudes[casts.history()];
  for (Value* one : {&seen.before, &seen.now}) {
    if (!*one) task.backend.fill(task.renew(*one, 1, kNumbers), 0);
  }
  task.backend.scale_for(casts.format(), task.read(seen.before, "largest magnitude"), scale);
  return task.write(seen.now, "largest magnitude");
}

/// x [rows, columns], whose layouts have scales of their own.
void cast_blocks(Casts& casts, Backend& backend, const Tensor& x, std::int64_t rows, Layouts layouts) {
  const std::int64_t columns = x.count / rows;
  const auto make = [&](bool wanted, const char* what, std::int64_t count) {
    return wanted ? casts.make(what, count, kCodes) : Tensor{};
  };
  const Tensor codes = make(layouts.codes, " codes", x.count), turned = make(layouts.turned, " turned", x.count);
  const Tensor scales = make(layouts.codes, " codes scales", kernels::mx_scales(rows, columns));
  const Tensor turned_scales = make(layouts.turned, " turned scales", kernels::mx_scales(columns, rows));
  backend.mx_cast({rows, columns}, x, codes, scales, turned, turned_scales);
}

/// x [rows, columns], cut into parts of `widths` rows (weights) or columns (others).
void cast(Task& task, const Linear& l, Operand operand, const Tensor& x, std::int64_t rows, Layouts layouts) {
  Casts casts(task, l, operand);
  if (casts.mx()) return cast_blocks(casts, task.backend, x, rows, layouts);
  const std::int64_t columns = x.count / rows;
  const bool by_rows = operand == Operand::weight;
  const Tensor magnitude = scale(task, casts, x), by = casts.read(" scale");
  const Tensor codes = layouts.codes ? casts.make(" codes", x.count, kCodes) : Tensor{};
  const Tensor turned = layouts.turned ? casts.make(" turned", x.count, kCodes) : Tensor{};
  const auto widths = operand == Operand::input ? std::vector{columns} : widths_of(task, l, by_rows ? rows : columns);
  std::int64_t begin = 0;
  for (const std::int64_t width : widths) {
    const Cast shape{casts.format(), by_rows ? width : rows, by_rows ? columns : width};
    const std::int64_t from = begin * (by_rows ? columns : rows), count = shape.rows * shape.columns;
    const Tensor part =
        by_rows ? x.part(from, count) : cut_out(task, {begin, width, columns, 0, false, false}, rows, x);
    task.backend.cast(shape, part, by, codes ? codes.part(from, count) : codes,
                      turned ? turned.part(from, count) : turned, magnitude);
    begin += width;
  }
}

std::int64_t rows_of(Task& task, const Linear& l, const Tensor& input) {
  return input.count / task.parameter(l.weight(task)).part.columns.length;
}

void cast_input(Task& task, const Linear& l) {
  const Tensor x = task.read(input_name(task, l));
  cast(task, l, Operand::input, x, rows_of(task, l, x), layouts_of(task, Operand::input));
}

void cast_weight(Task& task, const Linear& l) {
  const std::int64_t rows = task.parameter(l.weight(task)).part.row_count();
  cast(task, l, Operand::weight, task.weight(l.weight(task)), rows, layouts_of(task, Operand::weight));
}

void cast_gradient(Task& task, const Linear& l) {
  const Tensor dy = output_gradient(task, l);
  const std::int64_t rows = dy.count / task.parameter(l.weight(task)).part.row_count();
  cast(task, l, Operand::gradient, dy, rows, layouts_of(task, Operand::gradient));
}

/// Of an input that a norm left in one layout.
void turn_input(Task& task, const Linear& l) {
  Casts casts(task, l, Operand::input);
  const Tensor codes = casts.read(" codes");
  const std::int64_t rows = rows_of(task, l, codes);
  task.backend.turn(rows, codes.count / rows, codes, casts.make(" turned", codes.count, kCodes));
}

bool has_operator(const Task& task, const std::string& name) {
  return std::ranges::find(task.rank.plan.names, name) != task.rank.plan.names.end();
}

bool promotes(const Task& task) { return task.work<plan::Matmul>().gradient; }

}  // namespace

bool is_narrow(const Task& task) { return spec::bytes_of(task.work<plan::Matmul>().dtype) < 2; }

void narrow_forward(Task& task, const Linear& l, const Piece& piece, const Tensor& y) {
  Casts input(task, l, Operand::input), weight(task, l, Operand::weight);
  const std::int64_t rows = y.count / piece.width, count = piece.width * piece.in;
  task.backend.narrow_matmul(Matmul{rows, piece.width, piece.in, false, true},
                             input.operand(" codes", 0, rows * piece.in),
                             weight.operand(" codes", piece.begin * piece.in, count), y, promotes(task));
  if (!piece.last) return;
  if (!plan::keeps_casts(task.c)) input.erase(" codes");
  if (!plan::keeps_weight_casts(task.c)) weight.erase(" codes");
}

void narrow_input_gradient(Task& task, const Linear& l, const Piece& piece, const Tensor& dx) {
  Casts gradient(task, l, Operand::gradient), weight(task, l, Operand::weight);
  const std::int64_t rows = dx.count / piece.in, count = piece.width * piece.in;
  const bool turned = weight.has(" turned");
  task.backend.narrow_matmul(Matmul{rows, piece.in, piece.width, false, turned},
                             gradient.operand(" codes", piece.begin * rows, rows * piece.width),
                             weight.operand(turned ? " turned" : " codes", piece.begin * piece.in, count), dx,
                             promotes(task));
  if (piece.last && turned && !plan::keeps_weight_casts(task.c)) weight.erase(" turned");
}

void narrow_weight_gradient(Task& task, const Linear& l, const Piece& piece, const Tensor& dw, bool adds) {
  Casts gradient(task, l, Operand::gradient), input(task, l, Operand::input);
  const bool turned = input.has(" turned");
  const char* const layout = turned ? " turned" : " codes";
  const std::int64_t inputs = input.read(layout).count, rows = inputs / piece.in;
  task.backend.narrow_matmul(Matmul{piece.width, piece.in, rows, !turned, turned, 1, adds ? 1.0 : 0.0},
                             gradient.operand(layout, piece.begin * rows, rows * piece.width),
                             input.operand(layout, 0, inputs), dw, promotes(task));
}

void cast_behind_norm(Task& task, const std::string& norm) {
  if (!plan::narrow(task.c, task.op.layer)) return;
  for (const Linear& l : linears()) {
    if (l.input(task) != norm) continue;
    if (!has_operator(task, l.name + " weight cast") || has_operator(task, l.name + " input cast")) continue;
    const Tensor x = task.read(norm);
    cast(task, l, Operand::input, x, rows_of(task, l, x), {true, false});
  }
}

void add_narrow_actions(Actions& actions) {
  for (const Linear& l : linears()) {
    actions[l.name + " input cast"] = [l](Task& t) { cast_input(t, l); };
    actions[l.name + " weight cast"] = [l](Task& t) { cast_weight(t, l); };
    actions[l.name + " gradient cast"] = [l](Task& t) { cast_gradient(t, l); };
    actions[l.name + " input transpose"] = [l](Task& t) { turn_input(t, l); };
  }
}

}  // namespace real
