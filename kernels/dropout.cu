// kernels/dropout.cu -- see dropout.h. A thread takes the four places whose random words one counter gives.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/dropout.h"

namespace kernels::gpu {
namespace {

/// `wide`: the four places of a counter may be read at once, where they all are inside.
template <class T>
__global__ void drop(std::uint64_t seed, std::int64_t offset, std::uint32_t threshold, float scale, bool wide,
                     std::int64_t count, const T* x, T* y) {
  const std::int64_t last = (offset + count + 3) / 4;
  for (std::int64_t counter = offset / 4 + grid_index(); counter < last; counter += grid_stride()) {
    const std::int64_t first = 4 * counter - offset;
    Pack<T, 4> pack;
    if (wide && first + 4 <= count) pack = load<4>(x + first);
    const Four random = philox(seed, counter);
    const auto dropped = [&](int lane, float value) { return random.word[lane] >= threshold ? value * scale : 0; };
    if (wide && first + 4 <= count) {
      for (int lane = 0; lane < 4; ++lane) pack.set(lane, dropped(lane, pack[lane]));
      store(y + first, pack);
      continue;
    }
    for (int lane = 0; lane < 4; ++lane) {
      const std::int64_t i = first + lane;
      if (i >= 0 && i < count) y[i] = from_float<T>(dropped(lane, to_float(x[i])));
    }
  }
}

}  // namespace

void dropout(const Dropout& d, std::int64_t count, Element element, const void* x, void* y, Stream stream) {
  const bool wide = d.offset % 4 == 0 && aligned(x) && aligned(y);
  with_element(element, [&]<class T>() {
    launch(drop<T>, {blocks_for(count / 4 + 1), kBlock}, stream, d.seed, static_cast<std::int64_t>(d.offset),
           dropout_threshold(d.probability), static_cast<float>(1 / (1 - d.probability)), wide, count, as<T>(x),
           as<T>(y));
  });
  check_launch("dropout");
}

}  // namespace kernels::gpu
