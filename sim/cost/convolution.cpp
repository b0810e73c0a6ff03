// sim/cost/convolution.cpp -- the formula of the header.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/convolution.h"

#include <algorithm>

#include "sim/cost/curves.h"
#include "sim/cost/matmul.h"
#include "sim/cost/memory_bound.h"

namespace sim {
namespace {

constexpr std::int64_t kShortestPart = 512;  // of k: below it a part's prologue would outweigh its main loop

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Price price_convolution(const plan::Convolution& w, const Device& device) {
  using Pass = plan::Convolution::Pass;
  const std::int64_t taps = std::int64_t{w.kernel} * w.kernel, p = w.out_size();
  const std::int64_t in = w.batch * w.in * w.size * w.size, out = w.batch * w.out * p * p;
  const std::int64_t weights = w.out * (w.in / w.groups) * taps;
  const auto element = static_cast<std::int64_t>(spec::bytes_of(w.storage));
  std::int64_t moved = element * (in + out + weights);
  if (w.groups == w.in && w.groups > 1) {
    const std::int64_t written = w.pass == Pass::forward ? out : w.pass == Pass::data_gradient ? in : weights;
    return price_memory_bound({plan::MemoryBound::Kind::elementwise, moved - element * written, element * written, 1},
                              device);
  }
  plan::Matmul gemm{0, 0, 0, w.groups, w.dtype, w.storage, false};
  switch (w.pass) {
    case Pass::forward:
      gemm.m = w.batch * p * p;
      gemm.n = w.out / w.groups;
      gemm.k = w.in / w.groups * taps;
      break;
    case Pass::data_gradient:
      gemm.m = w.batch * w.size * w.size;
      gemm.n = w.in / w.groups;
      gemm.k = up(w.out / w.groups * taps, std::int64_t{w.stride} * w.stride);
      break;
    case Pass::weight_gradient: {
      gemm.m = w.out / w.groups;
      gemm.n = w.in / w.groups * taps;
      const std::int64_t depth = w.batch * p * p;
      const spec::MatmulCurve& curve = matmul_curve(device.calibration, w.dtype);
      const auto tile = [](double side) { return std::max<std::int64_t>(1, static_cast<std::int64_t>(side)); };
      const std::int64_t tiles = up(gemm.m, tile(curve.tile_m)) * up(gemm.n, tile(curve.tile_n)) * w.groups;
      const std::int64_t parts = std::clamp<std::int64_t>(device.gpu.sms / tiles, 1, up(depth, kShortestPart));
      gemm.k = up(depth, parts);
      gemm.batch *= parts;
      if (parts > 1) moved += 8 * parts * weights;
      break;
    }
  }
  return price_matmul(gemm, device, static_cast<double>(moved));
}

}  // namespace sim
