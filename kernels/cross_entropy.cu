// kernels/cross_entropy.cu -- see cross_entropy.h. A block takes a row.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy.h"
#include "kernels/device.cuh"

namespace kernels::gpu {
namespace {

template <class T, int V, class Body>
__device__ void for_each(const T* row, std::int64_t width, Body body) {
  for (std::int64_t i = threadIdx.x * V; i < width; i += blockDim.x * V) {
    const Pack<T, V> pack = load<V>(row + i);
    for (int j = 0; j < V; ++j) body(pack[j]);
  }
}

template <class T, int V>
__device__ float row_maximum(const T* row, std::int64_t width) {
  float maximum = -INFINITY;
  for_each<T, V>(row, width, [&](float x) { maximum = fmaxf(maximum, x); });
  return block_reduce<Maximum>(maximum);
}

template <class T, int V>
__device__ float row_total(const T* row, std::int64_t width, float maximum) {
  float total = 0;
  for_each<T, V>(row, width, [&](float x) { total += __expf(x - maximum); });
  return block_reduce(total);
}

/// The row becomes its gradient. `target` is local to the row; outside of it, no element is the target.
template <class T, int V>
__device__ void row_gradient(T* row, std::int64_t width, float maximum, float total, std::int64_t target, float scale) {
  const float share = scale / total;  // a division an element would cost as much as reading it
  for (std::int64_t i = threadIdx.x * V; i < width; i += blockDim.x * V) {
    Pack<T, V> pack = load<V>(row + i);
    const std::int64_t here = target - i;
    for (int j = 0; j < V; ++j) pack.set(j, share * __expf(pack[j] - maximum) - (here == j ? scale : 0));
    store(row + i, pack);
  }
}

struct Shape {
  std::int64_t rows, vocabulary, first;
  float scale;
};

Shape shape_of(const CrossEntropy& c) { return {c.rows, c.vocabulary, c.first, static_cast<float>(c.scale)}; }

template <class T, int V>
__global__ void whole(Shape s, const std::int32_t* targets, T* logits, float* loss) {
  for (std::int64_t index = blockIdx.x; index < s.rows; index += gridDim.x) {
    T* row = logits + index * s.vocabulary;
    const bool ignored = targets[index] < 0;
    const std::int64_t target = targets[index] - s.first;
    const float maximum = row_maximum<T, V>(row, s.vocabulary), total = row_total<T, V>(row, s.vocabulary, maximum);
    if (threadIdx.x == 0) loss[index] = ignored ? 0 : maximum + logf(total) - to_float(row[target]);
    __syncthreads();  // the target is read before it becomes its gradient
    row_gradient<T, V>(row, s.vocabulary, maximum, total, target, ignored ? 0 : s.scale);
  }
}

template <class T, int V>
__global__ void maxima(Shape s, const T* logits, float* maximum) {
  for (std::int64_t index = blockIdx.x; index < s.rows; index += gridDim.x) {
    const float found = row_maximum<T, V>(logits + index * s.vocabulary, s.vocabulary);
    if (threadIdx.x == 0) maximum[index] = found;
  }
}

template <class T, int V>
__global__ void sums(Shape s, const std::int32_t* targets, const T* logits, const float* maximum, float* total,
                     float* target_logit) {
  for (std::int64_t index = blockIdx.x; index < s.rows; index += gridDim.x) {
    const T* row = logits + index * s.vocabulary;
    const float found = row_total<T, V>(row, s.vocabulary, maximum[index]);
    if (threadIdx.x > 0) continue;
    const std::int64_t target = targets[index] - s.first;
    const bool here = targets[index] >= 0 && target >= 0 && target < s.vocabulary;
    total[index] = found;
    target_logit[index] = here ? to_float(row[target]) : 0;
  }
}

template <class T, int V>
__global__ void gradients(Shape s, const std::int32_t* targets, const float* maximum, const float* total, T* logits) {
  for (std::int64_t index = blockIdx.x; index < s.rows; index += gridDim.x) {
    row_gradient<T, V>(logits + index * s.vocabulary, s.vocabulary, maximum[index], total[index],
                       targets[index] - s.first, targets[index] < 0 ? 0 : s.scale);
  }
}

__global__ void losses(std::int64_t rows, const std::int32_t* targets, const float* maximum, const float* total,
                       const float* target_logit, float* loss) {
  for (std::int64_t row = grid_index(); row < rows; row += grid_stride()) {
    loss[row] = targets[row] < 0 ? 0 : maximum[row] + logf(total[row]) - target_logit[row];
  }
}

}  // namespace

void cross_entropy(const CrossEntropy& c, Element element, const std::int32_t* targets, void* logits, float* loss,
                   Stream stream) {
  with_packs(element, packs(element, c.vocabulary, logits), [&]<class T, int V>() {
    launch(whole<T, V>, {blocks_for(c.rows, 1), threads_for(c.vocabulary / V, 1024)}, stream, shape_of(c), targets,
           as<T>(logits), loss);
  });
  check_launch("cross entropy");
}

void cross_entropy_maximum(const CrossEntropy& c, Element element, const void* logits, float* maximum, Stream stream) {
  with_packs(element, packs(element, c.vocabulary, logits), [&]<class T, int V>() {
    launch(maxima<T, V>, {blocks_for(c.rows, 1), threads_for(c.vocabulary / V)}, stream, shape_of(c), as<T>(logits),
           maximum);
  });
  check_launch("cross entropy maximum");
}

void cross_entropy_sums(const CrossEntropy& c, Element element, const std::int32_t* targets, const void* logits,
                        const float* maximum, float* total, float* target_logit, Stream stream) {
  with_packs(element, packs(element, c.vocabulary, logits), [&]<class T, int V>() {
    launch(sums<T, V>, {blocks_for(c.rows, 1), threads_for(c.vocabulary / V)}, stream, shape_of(c), targets,
           as<T>(logits), maximum, total, target_logit);
  });
  check_launch("cross entropy sums");
}

void cross_entropy_loss(std::int64_t rows, const std::int32_t* targets, const float* maximum, const float* total,
                        const float* target_logit, float* loss, Stream stream) {
  launch(losses, {blocks_for(rows), kBlock}, stream, rows, targets, maximum, total, target_logit, loss);
  check_launch("cross entropy loss");
}

void cross_entropy_gradient(const CrossEntropy& c, Element element, const std::int32_t* targets, const float* maximum,
                            const float* total, void* logits, Stream stream) {
  with_packs(element, packs(element, c.vocabulary, logits), [&]<class T, int V>() {
    launch(gradients<T, V>, {blocks_for(c.rows, 1), threads_for(c.vocabulary / V)}, stream, shape_of(c), targets,
           maximum, total, as<T>(logits));
  });
  check_launch("cross entropy gradient");
}

}  // namespace kernels::gpu
