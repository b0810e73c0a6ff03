// kernels/dropout.cu -- see dropout.h. A thread takes the four places whose random words one counter gives.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/dropout.h"

namespace kernels::gpu {
namespace {

template <class T>
__global__ void drop(std::uint64_t seed, std::int64_t offset, std::uint32_t threshold, float scale, std::int64_t count,
                     const T* x, T* y) {
  const std::int64_t last = (offset + count + 3) / 4;
  for (std::int64_t counter = offset / 4 + grid_index(); counter < last; counter += grid_stride()) {
    const Four random = philox(seed, counter);
    for (int lane = 0; lane < 4; ++lane) {
      const std::int64_t i = 4 * counter + lane - offset;
      if (i < 0 || i >= count) continue;
      y[i] = from_float<T>(random.word[lane] >= threshold ? to_float(x[i]) * scale : 0);
    }
  }
}

}  // namespace

void dropout(const Dropout& d, std::int64_t count, Element element, const void* x, void* y, Stream stream) {
  with_element(element, [&]<class T>() {
    launch(drop<T>, {blocks_for(count / 4 + 1), kBlock}, stream, d.seed, static_cast<std::int64_t>(d.offset),
           dropout_threshold(d.probability), static_cast<float>(1 / (1 - d.probability)), count, as<T>(x), as<T>(y));
  });
  check_launch("dropout");
}

}  // namespace kernels::gpu
