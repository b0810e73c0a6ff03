// sim/cost/matmul.cpp -- the formula of the header.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/matmul.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "sim/cost/curves.h"
#include "sim/cost/power.h"

namespace sim {
namespace {

struct Tile {
  double m, n, pace;
};

double smooth_max(double a, double b) {
  const double a2 = a * a, b2 = b * b;
  return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
}

/// FLOPs that the GPU's SMs spend, idle ones and padding included.
double occupied_flops(const plan::Matmul& w, const Tile& tile, int split, const spec::MatmulCurve& curve, int sms) {
  const double m = static_cast<double>(w.m), n = static_cast<double>(w.n), batch = static_cast<double>(w.batch);
  const double depth = static_cast<double>(w.k) / split + curve.k_half;
  if (tile.m <= 0 || sms <= 0) return 2 * m * n * batch * split * depth;
  const double blocks = std::ceil(m / tile.m) * std::ceil(n / tile.n) * batch * split / sms;
  const double waves = curve.wave_share * std::ceil(blocks) + (1 - curve.wave_share) * std::max(blocks, 1.0);
  return waves * sms * 2 * tile.m * tile.n * depth;
}

double moved_bytes(const plan::Matmul& w, int split) {
  const double m = static_cast<double>(w.m), n = static_cast<double>(w.n), k = static_cast<double>(w.k);
  const double out = spec::bytes_of(w.out) * (w.accumulates ? 2 : 1);
  return static_cast<double>(w.batch) *
         (spec::bytes_of(w.dtype) * (m * k + k * n) + out * m * n + (split > 1 ? 8.0 * split * m * n : 0.0));
}

double elements_of_result(const plan::Matmul& w) {
  return static_cast<double>(w.m) * static_cast<double>(w.n) * static_cast<double>(w.batch);
}

/// An fp32 sum is read and written as the last tiles leave, when there is little math left to hide it.
base::Seconds accumulation(const plan::Matmul& w, const Device& device) {
  if (!w.accumulates || w.out != spec::Dtype::fp32) return {};
  const double sum = 2.0 * spec::bytes_of(w.out) * elements_of_result(w);
  return base::Bytes(sum * device.calibration.accumulation) / device.gpu.hbm;
}

/// Rows of a batch that share a leading dimension with other batches (heads of packed queries, keys and values) start
/// at any multiple of the row: unless that is 16 bytes, tensor cores cannot load them, and CUDA cores multiply in fp32.
/// Experts do not: each one's tokens are whole rows, and their number only cuts the last tile.
bool misses_tensor_cores(const plan::Matmul& w, const Device& device) {
  if (!device.calibration.unaligned_on_cuda_cores || !device.gpu.computes(spec::Dtype::fp32)) return false;
  const bool half = spec::bytes_of(w.dtype) == 2;
  return half && w.batch > 1 && !w.grouped && (w.n % 8 != 0 || w.k % 8 != 0);
}

/// Pace of the kernels that libraries take where rows of 16-bit operands or of C do not begin at multiples of 16 bytes,
/// over that of the others. Rows at multiples of 4 bytes: between those of 8 and of 2. Thin ones were not timed.
double aligned_pace(const plan::Matmul& w, const spec::MatmulCurve& curve) {
  constexpr std::int64_t kThin = 256;
  if (spec::bytes_of(w.dtype) != 2 || (w.batch > 1 && !w.grouped) || std::min({w.m, w.n, w.k}) < kThin) return 1;
  const std::int64_t both = w.pass == plan::Matmul::Pass::weight_gradient ? w.m | w.n : w.n | w.k;  // elements of a row
  if (both % 8 == 0) return 1;
  if (both % 4 == 0) return curve.unaligned.rows_of_8;
  return both % 2 == 0 ? std::sqrt(curve.unaligned.rows_of_8 * curve.unaligned.rows_of_2) : curve.unaligned.rows_of_2;
}

/// Of an operand whose rows the sum does not run along, over that of forward.
double pass_pace(const plan::Matmul& w, const spec::MatmulCurve& curve) {
  switch (w.pass) {
    case plan::Matmul::Pass::forward: return 1;
    case plan::Matmul::Pass::input_gradient: return curve.passes.input_gradient;
    case plan::Matmul::Pass::weight_gradient: return curve.passes.weight_gradient;
  }
  return 1;
}

/// Of an fp32 sum, bytes that a result of 16 bits which nothing is added to would not move.
double bytes_of_sum(const plan::Matmul& w) {
  return (2 * spec::bytes_of(w.out) - spec::bytes_of(spec::Dtype::bf16)) * elements_of_result(w);
}

struct Busy {
  double whole = std::numeric_limits<double>::infinity(), apart = whole;  // seconds; with and without bytes_of_sum()
};

/// Without overheads. `moved`: bytes, or below 0: those of the matmul itself, which may be split. `pace`: over the
/// curve's ceiling.
Busy busy_time(const plan::Matmul& w, const spec::MatmulCurve& curve, base::FlopRate peak, const spec::Gpu& gpu,
               double pace, double moved) {
  const double rate = curve.ceiling * peak.si() * pace, bandwidth = curve.memory * gpu.hbm.si();
  const double tm = curve.tile_m, tn = curve.tile_n;
  const std::array<Tile, 5> tiles{{{tm, tn, 1},
                                   {tn, tm, 1},
                                   {tm, tn / 2, curve.half_tile},
                                   {tm / 2, tn, curve.half_tile},
                                   {tm / 2, tn / 2, curve.quarter_tile}}};
  Busy out;
  for (const int split : {1, 2, 4}) {
    if (moved >= 0 && split > 1) break;
    double math = std::numeric_limits<double>::infinity();
    for (const Tile& tile : tiles) {
      math = std::min(math, occupied_flops(w, tile, split, curve, gpu.sms) / (rate * tile.pace));
    }
    const double bytes = moved >= 0 ? moved : moved_bytes(w, split);
    out.whole = std::min(out.whole, smooth_max(math, bytes / bandwidth));
    if (moved >= 0 || !w.accumulates) continue;
    out.apart = std::min(out.apart, smooth_max(math, (bytes - bytes_of_sum(w)) / bandwidth));
  }
  out.apart = std::min(out.apart, out.whole);
  return out;
}

Price priced(const plan::Matmul& w, const Device& device, double moved) {
  const bool in_memory = moved < 0;  // an implicit matmul's rows are gathered as it runs
  const spec::Dtype dtype = in_memory && misses_tensor_cores(w, device) ? spec::Dtype::fp32 : w.dtype;
  const spec::MatmulCurve& curve = matmul_curve(device.calibration, dtype);
  const base::FlopRate peak = device.gpu.peak_of(dtype);
  assert(device.gpu.computes(dtype) && "a dtype without a peak is refused before pricing");
  const double pace = sustained_pace(device) * (w.gradient ? curve.gradients.pace : 1) *
                      (in_memory ? aligned_pace(w, curve) : 1) * pass_pace(w, curve);
  const Busy busy = busy_time(w, curve, peak, device.gpu, pace, moved);
  const base::Seconds sum = accumulation(w, device);
  // Whichever is longer: the share of the sum that math leaves bare, or what its bytes take where they rule anyway.
  const double apart = sum.si() > 0 ? busy.apart : busy.whole;
  const base::Seconds added = std::max(sum, base::Seconds(busy.whole - apart));
  const base::Seconds fixed = curve.overhead + added;
  // What many small products cost beside one large one is a matter of the library: where no curve of its own says it,
  // it is as in bf16. torch._grouped_mm is of 16 bits: with fewer or more PyTorch calls other kernels.
  if (!w.grouped) return {fixed + base::Seconds(apart), curve.from.residual};
  const spec::MatmulCurve& of_groups =
      curve.grouped.known() ? curve : matmul_curve(device.calibration, spec::Dtype::bf16);
  const bool by_torch = device.calibration.grouped_mm && spec::bytes_of(dtype) == 2 && of_groups.grouped_mm.known();
  const spec::GroupedPace& grouped = by_torch ? of_groups.grouped_mm : of_groups.grouped;
  if (!grouped.known()) return {fixed + base::Seconds(apart), curve.from.residual};
  return {fixed + grouped.each * static_cast<double>(w.batch) + base::Seconds(apart / grouped.pace),
          grouped.from.residual};
}

}  // namespace

Price price_matmul(const plan::Matmul& w, const Device& device) { return priced(w, device, -1); }

Price price_matmul(const plan::Matmul& w, const Device& device, double moved) { return priced(w, device, moved); }

}  // namespace sim
