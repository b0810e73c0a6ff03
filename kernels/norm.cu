// kernels/norm.cu -- see norm.h. A block takes a row; the gradients of weight and bias are sums over columns.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/norm.h"

namespace kernels::gpu {
namespace {

template <class T>
struct Forward {
  std::int64_t rows, width;
  float epsilon;
  bool centred;
  const T *x, *residual, *weight, *bias;
  T *sum, *y;
  float *mean, *rstd;

  /// x + residual, rounded as `sum` keeps it.
  template <int V>
  __device__ Pack<T, V> value(std::int64_t at) const {
    Pack<T, V> pack = load<V>(x + at);
    if (residual) {
      const Pack<T, V> other = load<V>(residual + at);
      for (int j = 0; j < V; ++j) pack.set(j, pack[j] + other[j]);
    }
    return pack;
  }
};

template <class T, int V>
__global__ void normalize(Forward<T> p) {
  const auto width = static_cast<float>(p.width);
  for (std::int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const std::int64_t begin = row * p.width;
    const std::int64_t first = threadIdx.x * V, stride = blockDim.x * V;
    float mean = 0, square = 0;
    if (p.centred) {
      for (std::int64_t i = first; i < p.width; i += stride) {
        const Pack<T, V> value = p.template value<V>(begin + i);
        for (int j = 0; j < V; ++j) mean += value[j];
      }
      mean = block_reduce(mean) / width;
    }
    for (std::int64_t i = first; i < p.width; i += stride) {
      const Pack<T, V> value = p.template value<V>(begin + i);
      for (int j = 0; j < V; ++j) square += (value[j] - mean) * (value[j] - mean);
    }
    const float rstd = rsqrtf(block_reduce(square) / width + p.epsilon);
    for (std::int64_t i = first; i < p.width; i += stride) {
      const Pack<T, V> value = p.template value<V>(begin + i), weight = load<V>(p.weight + i);
      Pack<T, V> y;
      for (int j = 0; j < V; ++j)
        y.set(j, (value[j] - mean) * rstd * weight[j] + (p.bias ? to_float(p.bias[i + j]) : 0));
      if (p.sum) store(p.sum + begin + i, value);
      store(p.y + begin + i, y);
    }
    if (threadIdx.x == 0) {
      p.rstd[row] = rstd;
      if (p.mean) p.mean[row] = mean;
    }
  }
}

template <class T>
struct Backward {
  std::int64_t rows, width;
  bool centred;
  const T *sum, *weight, *dy, *dsum;
  const float *mean, *rstd;
  T* dx;
  float *dweight, *dbias;

  __device__ float mean_of(std::int64_t row) const { return centred ? mean[row] : 0; }
};

template <class T, int V>
__global__ void backward_rows(Backward<T> p) {
  const auto width = static_cast<float>(p.width);
  for (std::int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const std::int64_t begin = row * p.width;
    const std::int64_t first = threadIdx.x * V, stride = blockDim.x * V;
    const float mean = p.mean_of(row), rstd = p.rstd[row];
    float shift = 0, along = 0;  // as in the reference
    for (std::int64_t i = first; i < p.width; i += stride) {
      const Pack<T, V> dy = load<V>(p.dy + begin + i), weight = load<V>(p.weight + i),
                       value = load<V>(p.sum + begin + i);
      for (int j = 0; j < V; ++j) {
        const float g = dy[j] * weight[j];
        shift += g;
        along += g * (value[j] - mean) * rstd;
      }
    }
    shift = p.centred ? block_reduce(shift) / width : 0;
    along = block_reduce(along) / width;
    for (std::int64_t i = first; i < p.width; i += stride) {
      const Pack<T, V> dy = load<V>(p.dy + begin + i), weight = load<V>(p.weight + i),
                       value = load<V>(p.sum + begin + i);
      Pack<T, V> dx;
      for (int j = 0; j < V; ++j) {
        const float normal = (value[j] - mean) * rstd;
        const float path = p.dsum ? to_float(p.dsum[begin + i + j]) : 0;
        dx.set(j, (dy[j] * weight[j] - shift - normal * along) * rstd + path);
      }
      store(p.dx + begin + i, dx);
    }
  }
}

constexpr int kRowsAtOnce = 16;

/// A block sums 32 columns over all rows, so the order of addition is fixed.
template <class T>
__global__ void __launch_bounds__(kWarp* kRowsAtOnce) backward_columns(Backward<T> p) {
  __shared__ float part[2][kRowsAtOnce][kWarp];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  float dweight = 0, dbias = 0;
  if (column < p.width) {
    for (std::int64_t row = threadIdx.y; row < p.rows; row += kRowsAtOnce) {
      const float dy = to_float(p.dy[row * p.width + column]);
      dweight += dy * (to_float(p.sum[row * p.width + column]) - p.mean_of(row)) * p.rstd[row];
      dbias += dy;
    }
  }
  part[0][threadIdx.y][threadIdx.x] = dweight;
  part[1][threadIdx.y][threadIdx.x] = dbias;
  __syncthreads();
  if (threadIdx.y > 0 || column >= p.width) return;
  for (int i = 1; i < kRowsAtOnce; ++i) {
    dweight += part[0][i][threadIdx.x];
    dbias += part[1][i][threadIdx.x];
  }
  p.dweight[column] += dweight;
  if (p.dbias) p.dbias[column] += dbias;
}

}  // namespace

void norm_forward(const Norm& n, Element element, const void* x, const void* residual, const void* weight,
                  const void* bias, void* sum, void* y, float* mean, float* rstd, Stream stream) {
  if (n.rows == 0) return;
  with_packs(element, packs(element, n.width, x, residual, weight, sum, y), [&]<class T, int V>() {
    const Forward<T> arguments{n.rows,
                               n.width,
                               static_cast<float>(n.epsilon),
                               n.kind == NormKind::layer,
                               as<T>(x),
                               as<T>(residual),
                               as<T>(weight),
                               as<T>(bias),
                               as<T>(sum),
                               as<T>(y),
                               mean,
                               rstd};
    launch(normalize<T, V>, {blocks_for(n.rows, 1), threads_for(n.width / V)}, stream, arguments);
  });
  check_launch("norm forward");
}

void norm_backward(const Norm& n, Element element, const void* sum, const void* weight, const float* mean,
                   const float* rstd, const void* dy, const void* dsum, void* dx, float* dweight, float* dbias,
                   Stream stream) {
  if (n.rows == 0) return;
  with_packs(element, packs(element, n.width, sum, weight, dy, dx), [&]<class T, int V>() {
    const Backward<T> arguments{n.rows,      n.width,       n.kind == NormKind::layer,
                                as<T>(sum),  as<T>(weight), as<T>(dy),
                                as<T>(dsum), mean,          rstd,
                                as<T>(dx),   dweight,       dbias};
    // The columns first: dx may take the place of dsum, never of sum or dy.
    const auto columns = static_cast<unsigned>((n.width + kWarp - 1) / kWarp);
    launch(backward_columns<T>, {columns, dim3(kWarp, kRowsAtOnce)}, stream, arguments);
    launch(backward_rows<T, V>, {blocks_for(n.rows, 1), threads_for(n.width / V)}, stream, arguments);
  });
  check_launch("norm backward");
}

}  // namespace kernels::gpu
