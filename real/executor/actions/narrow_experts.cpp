// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/narrow_experts.h"

#include "core/plan/low_precision.h"

namespace real {
namespace {

using kernels::GroupedMatmul;
using kernels::Matmul;
using Pass = GroupedMatmul::Pass;

/// What tensor cores sum over comes in rows of 16 bytes, or in whole blocks under one scale.
std::int64_t whole_rows(const Task& task, std::int64_t rows) {
  const bool mx = task.c.dtype == spec::Dtype::mxfp8;
  const bool lines = task.rank.job.training.fp8_recipe == spec::Fp8Recipe::blockwise;
  const std::int64_t block = mx ? kernels::kMxBlock : lines ? kernels::kScaleBlock : 16;
  return (rows + block - 1) / block * block;
}

Tensor filled_up(Task& task, const Tensor& x, std::int64_t rows) {
  const std::int64_t width = x.count / rows, whole = whole_rows(task, rows);
  if (whole == rows) return x;
  const Tensor out = task.backend.allocate(whole * width);
  task.backend.copy(x, out.part(0, x.count));
  task.backend.fill(out.part(x.count, out.count - x.count), 0);
  return out;
}

std::string expert(const std::string& layer, std::size_t number) { return layer + ' ' + std::to_string(number); }

/// Calls body(number, rows, rows of those before) for each expert.
template <class Body>
void for_each_expert(const GroupedMatmul& shape, Body body) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < shape.rows.size(); ++i) {
    body(i, shape.rows[i], begin);
    begin += shape.rows[i];
  }
}

/// Results of matmuls whose rows are filled up to whole blocks, as the scales of lines lie. What an expert's last block
/// has too many goes where the next experts' results come later; behind the last ones there is no room.
class WholeResults {
 public:
  WholeResults(Task& task, const Tensor& y, std::int64_t width) : task_(task), y_(y), width_(width) {}

  std::int64_t rows(std::int64_t of_expert) const { return lines_ ? whole_rows(task_, of_expert) : of_expert; }
  Tensor place(std::int64_t begin, std::int64_t of_expert) {
    const std::int64_t whole = rows(of_expert);
    if ((begin + whole) * width_ <= y_.count) return y_.part(begin * width_, whole * width_);
    Late& late =
        late_.emplace_back(task_.backend.allocate(whole * width_), y_.part(begin * width_, of_expert * width_));
    return late.whole;
  }
  void settle() {
    for (const Late& late : late_) task_.backend.copy(late.whole.part(0, late.own.count), late.own);
  }

 private:
  struct Late {
    Tensor whole, own;
    Late(Tensor whole_rows, Tensor own_rows) : whole(std::move(whole_rows)), own(std::move(own_rows)) {}
  };
  Task& task_;
  const Tensor& y_;
  std::int64_t width_;
  bool lines_ = task_.rank.job.training.fp8_recipe == spec::Fp8Recipe::blockwise;
  std::vector<Late> late_;
};

void forward(Task& task, const std::string& layer, const GroupedMatmul& shape, const Tensor& y) {
  std::vector<NarrowMatmul> all;
  WholeResults results(task, y, shape.out);
  for_each_expert(shape, [&](std::size_t i, std::int64_t rows, std::int64_t begin) {
    Casts input(task, expert(layer, i), Operand::input), weight(task, expert(layer, i), Operand::weight);
    if (rows > 0) {
      const std::int64_t whole = results.rows(rows);
      all.push_back({Matmul{whole, shape.out, shape.in, false, true}, input.operand(" codes", 0, whole * shape.in),
                     weight.operand(" codes", 0, shape.out * shape.in), results.place(begin, rows)});
    }
    if (!plan::keeps_casts(task.c) || task.c.strategy.lora) input.erase(" codes");
    if (!plan::keeps_weight_casts(task.c)) weight.erase(" codes");
  });
  task.backend.narrow_grouped_matmul(all, task.work<plan::Matmul>().gradient);
  results.settle();
}

void input_gradient(Task& task, const std::string& layer, const GroupedMatmul& shape, const Tensor& dx) {
  std::vector<NarrowMatmul> all;
  WholeResults results(task, dx, shape.in);
  for_each_expert(shape, [&](std::size_t i, std::int64_t rows, std::int64_t begin) {
    Casts gradient(task, expert(layer, i), Operand::gradient), weight(task, expert(layer, i), Operand::weight);
    const bool turned = weight.has(" turned");
    if (rows > 0) {
      const std::int64_t whole = results.rows(rows);
      all.push_back(
          {Matmul{whole, shape.in, shape.out, false, turned}, gradient.operand(" codes", 0, whole * shape.out),
           weight.operand(turned ? " turned" : " codes", 0, shape.out * shape.in), results.place(begin, rows)});
    }
    if (turned && !plan::keeps_weight_casts(task.c)) weight.erase(" turned");
  });
  task.backend.narrow_grouped_matmul(all, task.work<plan::Matmul>().gradient);
  results.settle();
}

void weight_gradient(Task& task, const std::string& layer, const GroupedMatmul& shape, const Tensor& dw) {
  std::vector<NarrowMatmul> all;
  const std::int64_t each = shape.out * shape.in;
  for_each_expert(shape, [&](std::size_t i, std::int64_t rows, std::int64_t) {
    const Tensor of_expert = dw.part(static_cast<std::int64_t>(i) * each, each);
    if (rows == 0) {
      if (!shape.adds) task.backend.fill(of_expert, 0);
      return;
    }
    Casts gradient(task, expert(layer, i), Operand::gradient), input(task, expert(layer, i), Operand::input);
    const bool turned = input.has(" turned");
    const char* const layout = turned ? " turned" : " codes";
    const std::int64_t whole = whole_rows(task, rows);
    all.push_back({Matmul{shape.out, shape.in, whole, !turned, turned, 1, shape.adds ? 1.0 : 0.0},
                   gradient.operand(layout, 0, whole * shape.out), input.operand(layout, 0, whole * shape.in),
                   of_expert});
  });
  task.backend.narrow_grouped_matmul(all, task.work<plan::Matmul>().gradient);
}

}  // namespace

void cast_of_experts(Task& task, const std::string& layer, const GroupedMatmul& shape, Operand operand,
                     const Tensor& x) {
  const Layouts layouts = layouts_of(task, operand);
  const std::int64_t each = shape.out * shape.in, width = operand == Operand::input ? shape.in : shape.out;
  for_each_expert(shape, [&](std::size_t i, std::int64_t rows, std::int64_t begin) {
    if (operand == Operand::weight) {
      const Tensor w = x.part(static_cast<std::int64_t>(i) * each, each);
      cast(task, expert(layer, i), operand, w, shape.out, {shape.out}, layouts);
    } else if (rows > 0) {
      const Tensor own = filled_up(task, x.part(begin * width, rows * width), rows);
      cast(task, expert(layer, i), operand, own, own.count / width, {width}, layouts);
    }
  });
}

void turn_weights_of_experts(Task& task, const std::string& layer, const GroupedMatmul& shape) {
  for (std::size_t i = 0; i < shape.rows.size(); ++i) turn_weight_codes(task, expert(layer, i), {shape.out});
}

void narrow_grouped_matmul(Task& task, const std::string& layer, const GroupedMatmul& shape, const Tensor& result) {
  switch (shape.pass) {
    case Pass::forward: return forward(task, layer, shape, result);
    case Pass::input_gradient: return input_gradient(task, layer, shape, result);
    case Pass::weight_gradient: return weight_gradient(task, layer, shape, result);
  }
}

}  // namespace real
