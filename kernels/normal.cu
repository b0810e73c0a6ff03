// kernels/normal.cu -- see normal.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/normal.h"

namespace kernels::gpu {
namespace {

__global__ void draw(Normal n, float* y) {
  for (std::int64_t i = grid_index(); i < n.rows * n.columns; i += grid_stride()) {
    y[i] = static_cast<float>(n.deviation * normal_at(n.key, n.first + i / n.columns * n.stride + i % n.columns));
  }
}

}  // namespace

void normal(const Normal& n, float* y, Stream stream) {
  if (n.count() == 0) return;
  launch(draw, {blocks_for(n.count()), kBlock}, stream, n, y);
  check_launch("normal numbers");
}

}  // namespace kernels::gpu
