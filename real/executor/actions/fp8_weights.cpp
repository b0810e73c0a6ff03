// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/fp8_weights.h"

#include <algorithm>
#include <string>

#include "real/executor/actions/casts.h"
#include "real/executor/flat_order.h"

namespace real {
namespace {

constexpr Purpose kCarriedCodes{Meaning::code, plan::Category::communication};
constexpr std::int64_t kLine = 64;  // of numbers that lie one behind the other, as a matrix

bool delayed(const RankState& rank) { return rank.job.training.fp8_recipe == spec::Fp8Recipe::delayed; }

/// What a scale is for, of the part.
Range piece_of(const Parameter& p, int number) {
  const std::int64_t each = p.count() / p.scales;
  return {number * each, each};
}

/// This rank's own of it.
Range owned_of(const Parameter& p, int number) {
  const Range piece = piece_of(p, number);
  const std::int64_t begin = std::max(piece.begin, p.owned.begin);
  const std::int64_t end = std::min(piece.begin + piece.length, p.owned.begin + p.owned.length);
  return {begin, std::max<std::int64_t>(end - begin, 0)};
}

/// Of `what`, " codes" or " scale", as operators know it (Casts).
Value& piece(RankState& rank, const Parameter& p, int number, const char* what) {
  std::string linear = p.name.substr(0, p.name.rfind(".weight"));
  if (linear.starts_with("expert ")) linear += ' ' + std::to_string(number);
  return rank.narrow_weights[Casts::history(p.layer, linear) + what];
}

/// `values`: of the owned range.
void find_largest(Backend& backend, const Parameter& p, const Tensor& values, const Tensor& largest) {
  backend.fill(largest, 0);
  for (int i = 0; i < p.scales; ++i) {
    const Range own = owned_of(p, i);
    if (own.length > 0) {
      backend.largest_magnitude(values.part(own.begin - p.owned.begin, own.length), largest.part(i, 1));
    }
  }
}

void cast_line(Backend& backend, const Tensor& x, const Tensor& scale, const Tensor& codes) {
  const std::int64_t rows = x.count / kLine, lines = rows * kLine, rest = x.count - lines;
  using kernels::Cast, kernels::Fp8;
  if (rows > 0) {
    backend.cast(Cast{Fp8::e4m3, rows, kLine}, x.part(0, lines), scale, codes.part(0, lines), {}, {});
  }
  if (rest > 0) backend.cast(Cast{Fp8::e4m3, 1, rest}, x.part(lines, rest), scale, codes.part(lines, rest), {}, {});
}

/// `values` and `codes`: of the owned range. `scale_of(number)`: where the scale of a piece belongs.
template <class Scale>
void cast_owned(Backend& backend, const Parameter& p, const Tensor& values, const Tensor& by, const Tensor& codes,
                Scale scale_of) {
  for (int i = 0; i < p.scales; ++i) {
    const Tensor scale = scale_of(i);
    backend.scale_for(kernels::Fp8::e4m3, by.part(i, 1), scale);
    const Range own = owned_of(p, i);
    if (own.length == 0) continue;
    const std::int64_t from = own.begin - p.owned.begin;
    cast_line(backend, values.part(from, own.length), scale, codes.part(from, own.length));
  }
}

/// The magnitudes that this step's scales are of.
Tensor scaled_by(Task& task, Parameter& p) {
  return delayed(task.rank) ? task.read(p.largest_before, p.name) : task.read(p.largest, p.name);
}

auto scales_of(Task& task, const Parameter& p) {
  return [&](int number) { return task.write(piece(task.rank, p, number, " scale"), p.name); };
}

Tensor codes_of(Task& task, Parameter& p) {
  for (int i = 0; i < p.scales; ++i) task.write(piece(task.rank, p, i, " codes"), p.name);
  return p.codes;
}

}  // namespace

void start_fp8_weight(RankState& rank, Parameter& p, const Tensor& whole) {
  Backend& backend = rank.backend;
  p.codes = backend.allocate(p.count(), kWeightCodes);
  for (Value* magnitudes : {&p.largest, &p.largest_before}) {
    magnitudes->tensor = backend.allocate(p.scales, kNumbers);
    backend.fill(magnitudes->tensor, 0);
  }
  for (int i = 0; i < p.scales; ++i) {
    const Range of = piece_of(p, i);
    const Tensor values = whole.part(of.begin, of.length), largest = p.largest.tensor.part(i, 1);
    backend.largest_magnitude(values, largest);
    const Tensor scale = piece(rank, p, i, " scale").tensor = backend.allocate(1, kStatistic);
    backend.scale_for(kernels::Fp8::e4m3, delayed(rank) ? p.largest_before.tensor.part(i, 1) : largest, scale);
    const Tensor codes = piece(rank, p, i, " codes").tensor = p.codes.part(of.begin, of.length);
    cast_line(backend, values, scale, codes);
  }
}

void update_fp8_weight(Task& task, Parameter& p) {
  task.backend.copy(task.read(p.largest, p.name), task.write(p.largest_before, p.name));
  if (p.sharded) return;
  const Tensor master = task.read(p.master, p.name);
  find_largest(task.backend, p, master, task.write(p.largest, p.name));
  cast_owned(task.backend, p, master, scaled_by(task, p), codes_of(task, p), scales_of(task, p));
}

void gather_fp8_weights(Task& task, const std::vector<Parameter*>& carried, int ranks) {
  std::int64_t scales = 0;
  for (const Parameter* p : carried) scales += p->scales;
  const Tensor largest = task.backend.allocate(scales, kNumbers);
  std::int64_t at = 0;
  for (Parameter* p : carried) {
    find_largest(task.backend, *p, task.read(p->master, p->name), largest.part(at, p->scales));
    at += p->scales;
  }
  task.backend.all_reduce(task.group(), Sum::maximum, largest);

  const std::int64_t share = packed_share(carried, ranks);
  const Tensor mine = task.backend.allocate(share, kCarriedCodes);
  const Tensor packed = task.backend.allocate(share * ranks, kCarriedCodes);
  task.backend.fill(mine, 0);
  at = 0;
  std::int64_t number = 0;
  for (Parameter* p : carried) {
    task.backend.copy(largest.part(number, p->scales), task.write(p->largest, p->name));
    number += p->scales;
    cast_owned(task.backend, *p, task.read(p->master, p->name), scaled_by(task, *p), mine.part(at, p->owned.length),
               scales_of(task, *p));
    at += p->share(ranks);
  }
  task.backend.all_gather(task.group(), mine, packed);
  for (Parameter* p : carried) codes_of(task, *p);
  unpack(task.backend, carried, ranks, packed, [](Parameter& p) { return p.codes; });
}

}  // namespace real
