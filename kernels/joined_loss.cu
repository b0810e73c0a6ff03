// kernels/joined_loss.cu -- see joined_loss.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/joined_loss.h"

namespace kernels::gpu {
namespace {

__global__ void rescaled(std::int64_t rows, const float* own, const float* maximum, float* total) {
  for (std::int64_t row = grid_index(); row < rows; row += grid_stride()) total[row] *= __expf(own[row] - maximum[row]);
}

struct Statistics {
  const float *own_maximum, *own_total, *maximum, *total;
};

/// A block takes a row.
template <class T, int V>
__global__ void joined(std::int64_t rows, std::int64_t width, float scale, const std::int32_t* targets, Statistics of,
                       const T* target_rows, T* states) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float factor = targets[row] < 0 ? 0 : scale;
    const float share = of.own_total[row] / of.total[row] * __expf(of.own_maximum[row] - of.maximum[row]);
    for (std::int64_t i = threadIdx.x * V; i < width; i += blockDim.x * V) {
      Pack<T, V> x = load<V>(states + row * width + i);
      const Pack<T, V> target = load<V>(target_rows + row * width + i);
      for (int j = 0; j < V; ++j) x.set(j, factor * (x[j] * share - target[j]));
      store(states + row * width + i, x);
    }
  }
}

}  // namespace

void rescale_total(std::int64_t rows, const float* own, const float* maximum, float* total, Stream stream) {
  launch(rescaled, {blocks_for(rows), kBlock}, stream, rows, own, maximum, total);
  check_launch("rescaled total");
}

void join_states(const JoinedStates& s, Element element, const std::int32_t* targets, const float* own_maximum,
                 const float* own_total, const float* maximum, const float* total, const void* target_rows,
                 void* states, Stream stream) {
  const Statistics of{own_maximum, own_total, maximum, total};
  with_packs(element, packs(element, s.width, states, target_rows), [&]<class T, int V>() {
    launch(joined<T, V>, {blocks_for(s.rows, 1), threads_for(s.width / V)}, stream, s.rows, s.width,
           static_cast<float>(s.scale), targets, of, as<T>(target_rows), as<T>(states));
  });
  check_launch("joined states");
}

}  // namespace kernels::gpu
