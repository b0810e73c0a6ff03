// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/casts.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "core/plan/low_precision.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

using kernels::Cast;
using kernels::Fp8;
using kernels::Scales;

bool delayed(const Task& task) { return task.rank.job.training.fp8_recipe == spec::Fp8Recipe::delayed; }

Group tensor_group(const Task& task) {
  const auto& channels = task.rank.plan.channels;
  const auto found = std::ranges::find_if(channels, [](const plan::Channel& channel) {
    return channel.kind == plan::Channel::Kind::group && channel.axis == plan::Axis::tp;
  });
  if (found == channels.end()) throw std::logic_error("the Plan has no channel of tensor-parallel ranks");
  return task.rank.place.group(static_cast<int>(found - channels.begin()));
}

/// That of the step before, which ranks with a shard each agree upon when it is first asked for.
Tensor magnitude_before(Task& task, Magnitudes& seen, bool scattered) {
  for (Value* one : {&seen.before, &seen.now}) {
    if (!*one) task.backend.fill(task.renew(*one, 1, kNumbers), 0);
  }
  if (scattered && !seen.agreed) {
    task.backend.all_reduce(tensor_group(task), Sum::maximum, task.write(seen.before, "largest magnitude"));
    seen.agreed = true;
  }
  return task.read(seen.before, "largest magnitude");
}

/// Leaves the scale; returns what is to take in the largest magnitude that the casts see, if it is wanted.
Tensor leave_scale(Task& task, Casts& casts, const Tensor& x, bool scattered) {
  const Tensor scale = casts.make(" scale", 1, kStatistic);
  if (delayed(task)) {
    Magnitudes& seen = task.rank.magnitudes[casts.history()];
    task.backend.scale_for(casts.format(), magnitude_before(task, seen, scattered), scale);
    return task.write(seen.now, "largest magnitude");
  }
  if (scattered) {
    task.backend.scale_for(casts.format(), casts.read(" largest"), scale);
    return {};
  }
  const Tensor magnitude = task.backend.allocate(1, kStatistic);
  task.backend.fill(magnitude, 0);
  task.backend.largest_magnitude(x, magnitude);
  task.backend.scale_for(casts.format(), magnitude, scale);
  return {};
}

/// x [rows, columns], whose layouts have scales of their own.
void cast_blocks(Casts& casts, Backend& backend, const Tensor& x, std::int64_t rows, Layouts layouts, bool scattered) {
  const std::int64_t columns = x.count / rows;
  const bool mx = casts.scales() == Scales::mx;
  const auto make = [&](bool wanted, const char* what, std::int64_t count, Purpose purpose) {
    return wanted ? casts.make((scattered ? " shard" : "") + std::string(what), count, purpose) : Tensor{};
  };
  const auto make_scales = [&](bool wanted, const char* what, std::int64_t of_rows, std::int64_t of_columns) {
    const std::int64_t count =
        mx ? kernels::mx_scales(of_rows, of_columns) : kernels::count_scales(casts.scales(), of_rows, of_columns);
    return make(wanted, what, count, mx ? kCodes : kStatistic);
  };
  const Tensor codes = make(layouts.codes, " codes", x.count, kCodes);
  const Tensor turned = make(layouts.turned, " turned", x.count, kCodes);
  const Tensor scales = make_scales(layouts.codes, " codes scales", rows, columns);
  const Tensor turned_scales = make_scales(layouts.turned, " turned scales", columns, rows);
  if (mx) return backend.mx_cast({rows, columns}, x, codes, scales, turned, turned_scales);
  backend.block_cast({casts.scales(), rows, columns}, x, codes, scales, turned, turned_scales);
}

Scales scales_of(const Task& task, Operand operand) {
  if (task.c.dtype == spec::Dtype::mxfp8) return Scales::mx;
  const std::optional<spec::Fp8Recipe> recipe = task.rank.job.training.fp8_recipe;
  if (recipe == spec::Fp8Recipe::rowwise) return Scales::rows;
  if (recipe == spec::Fp8Recipe::blockwise) return operand == Operand::weight ? Scales::squares : Scales::lines;
  return Scales::tensor;
}

/// `runs` pieces of each rank's shard, each behind those of the ranks before; returns how many elements all have.
std::int64_t gather(Task& task, Casts& casts, const std::string& what, std::int64_t runs, Purpose purpose) {
  const Tensor shard = casts.read(" shard" + what);
  const std::int64_t ranks = task.c.tp, all = shard.count * ranks, length = shard.count / runs;
  const Tensor whole = casts.make(what, all, purpose);
  const Tensor pieces = runs == 1 ? whole : task.backend.allocate(all, purpose);
  task.backend.all_gather(task.group(), shard, pieces);
  if (runs == 1) return all;
  task.backend.strided_copy({.size = {1, ranks, runs, length},
                             .from_stride = {0, runs * length, length, 1},
                             .to_stride = {0, length, ranks * length, 1}},
                            pieces, whole);
  return all;
}

/// Columns [begin, begin + width) of x as a matrix of their own.
Tensor columns_of(Task& task, const Tensor& x, std::int64_t rows, std::int64_t begin, std::int64_t width) {
  const std::int64_t of = x.count / rows;
  if (width == of) return x;
  const Tensor out = task.backend.allocate(rows * width);
  task.backend.strided_copy(kernels::row_pieces(rows, width, of, width), x.part(begin, x.count - begin), out);
  return out;
}

}  // namespace

bool has_one_scale(const Task& task) { return scales_of(task, Operand::input) == Scales::tensor; }

Layouts layouts_of(const Task& task, Operand operand) {
  const bool weight = operand == Operand::weight;
  if ((weight ? plan::weight_layouts(task.c) : plan::operand_layouts(task.c)) == 1) return {true, false};
  const bool kept = weight ? plan::keeps_weight_casts(task.c) : plan::keeps_casts(task.c);
  if (kept || operand == Operand::gradient) return {true, true};
  const bool backward = task.op.phase == plan::Phase::backward;
  return {!backward, backward};
}

Casts::Casts(Task& task, const std::string& layer, Operand operand)
    : task_(task), of_weight_(operand == Operand::weight), scales_(scales_of(task, operand)) {
  constexpr std::array<const char*, 3> kNames{" input", " weight", " gradient"};
  name_ = layer + kNames[static_cast<std::size_t>(operand)];
  format_ = operand == Operand::gradient && scales_ == Scales::tensor ? Fp8::e5m2 : Fp8::e4m3;
}

Tensor Casts::make(const std::string& what, std::int64_t count, Purpose purpose) {
  if (!of_weight_) return task_.make(name_ + what, count, purpose);
  if (purpose.meaning == Meaning::code) purpose = kWeightCodes;
  return task_.renew(task_.rank.narrow_weights[history() + what], count, purpose);
}

Tensor Casts::read(const std::string& what) {
  if (!of_weight_) return task_.read(name_ + what);
  return task_.read(task_.rank.narrow_weights.at(history() + what), name_ + what);
}

bool Casts::has(const std::string& what) const {
  if (!of_weight_) return task_.has(name_ + what);
  return task_.rank.narrow_weights.contains(history() + what);
}

void Casts::erase(const std::string& what) {
  of_weight_ ? void(task_.rank.narrow_weights.erase(history() + what)) : task_.erase(name_ + what);
}

Narrow Casts::operand(const std::string& layout, std::int64_t begin, std::int64_t count) {
  return {read(layout).part(begin, count), scale_of(layout), format_, scales_};
}

Narrow Casts::with_codes(const Tensor& codes) { return {codes, scale_of(" codes"), format_, scales_}; }

Tensor Casts::scale_of(const std::string& layout) {
  return read(scales_ == Scales::tensor ? " scale" : layout + " scales");
}

void cast(Task& task, const std::string& layer, Operand operand, const Tensor& x, std::int64_t rows,
          const std::vector<std::int64_t>& widths, Layouts layouts, bool scattered) {
  Casts casts(task, layer, operand);
  if (casts.scales() != Scales::tensor) return cast_blocks(casts, task.backend, x, rows, layouts, scattered);
  const std::int64_t columns = x.count / rows;
  const Tensor magnitude = leave_scale(task, casts, x, scattered), by = casts.read(" scale");
  const Tensor codes = layouts.codes ? casts.make(scattered ? " shard codes" : " codes", x.count, kCodes) : Tensor{};
  const Tensor turned = layouts.turned ? casts.make(" turned", x.count, kCodes) : Tensor{};
  std::int64_t begin = 0;
  for (const std::int64_t width : widths) {
    const bool by_rows = casts.of_weight();
    const Cast shape{casts.format(), by_rows ? width : rows, by_rows ? columns : width};
    const std::int64_t from = begin * (by_rows ? columns : rows), count = shape.rows * shape.columns;
    const Tensor part = by_rows ? x.part(from, count) : columns_of(task, x, rows, begin, width);
    task.backend.cast(shape, part, by, codes ? codes.part(from, count) : codes,
                      turned ? turned.part(from, count) : turned, magnitude);
    begin += width;
  }
}

void find_largest(Task& task, const std::string& layer, Operand operand, const Tensor& shard) {
  const Tensor magnitude = Casts(task, layer, operand).make(" largest", 1, kStatistic);
  task.backend.fill(magnitude, 0);
  task.backend.largest_magnitude(shard, magnitude);
}

void agree_on_largest(Task& task, const std::string& layer, Operand operand) {
  Casts casts(task, layer, operand);
  const Tensor own = casts.read(" largest"), all = casts.make(" largest", 1, kStatistic);
  task.backend.copy(own, all);
  task.backend.all_reduce(task.group(), Sum::maximum, all);
}

void gather_codes(Task& task, const std::string& layer, Operand operand, std::int64_t columns, Layouts layouts) {
  Casts casts(task, layer, operand);
  const bool one_scale = casts.scales() == Scales::tensor, mx = casts.scales() == Scales::mx;
  const Purpose of_scales = mx ? kCodes : kStatistic;
  std::int64_t elements = 0;
  if (layouts.codes || one_scale) {
    elements = gather(task, casts, " codes", 1, kCodes);
    if (!one_scale) gather(task, casts, " codes scales", mx ? 1 : kernels::scale_blocks(columns), of_scales);
  }
  if (layouts.turned && !one_scale) {
    elements = gather(task, casts, " turned", columns, kCodes);
    gather(task, casts, " turned scales", mx ? (columns + 127) / 128 : 1, of_scales);
  }
  const double each = plan::gathered_bytes(task.c, operand == Operand::gradient);
  expect_bytes(task, static_cast<std::int64_t>(each * static_cast<double>(elements)), 1);
}

void turn_codes(Task& task, const std::string& layer, Operand operand, std::int64_t rows) {
  Casts casts(task, layer, operand);
  const Tensor codes = casts.read(" codes");
  task.backend.turn(rows, codes.count / rows, codes, casts.make(" turned", codes.count, kCodes));
}

void turn_weight_codes(Task& task, const std::string& layer, const std::vector<std::int64_t>& widths) {
  Casts casts(task, layer, Operand::weight);
  const Tensor codes = casts.read(" codes"), turned = casts.make(" turned", codes.count, kCodes);
  const std::int64_t rows = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
  const std::int64_t columns = codes.count / rows;
  std::int64_t begin = 0;
  for (const std::int64_t width : widths) {
    const std::int64_t from = begin * columns, count = width * columns;
    task.backend.turn(width, columns, codes.part(from, count), turned.part(from, count));
    begin += width;
  }
}

}  // namespace real
