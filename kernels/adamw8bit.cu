// kernels/adamw8bit.cu -- see adamw8bit.h. A warp has a block of moments to itself, 8 in each lane, from the reading of
// its codes to their writing. SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw8bit.h"
#include "kernels/device.cuh"
#include "kernels/dynamic_code.h"
#include "kernels/optimizer.cuh"

namespace kernels::gpu {
namespace {

constexpr int kEach = kMomentBlock / kWarp;

/// The numbers of one kind of code, in shared memory.
template <DynamicCode kind>
struct Numbers {
  float magnitude[256];

  __device__ void fill() {
    for (int i = static_cast<int>(threadIdx.x); i <= last_magnitude(kind); i += static_cast<int>(blockDim.x)) {
      magnitude[i] = dynamic_magnitude<float>(kind, i);
    }
  }
  __device__ float operator()(int index) const { return magnitude[index]; }
  __device__ float value(int code) const {
    return kind == DynamicCode::with_sign && code > 128 ? -magnitude[256 - code] : magnitude[code];
  }
};

/// New codes and scale of a warp's block.
template <DynamicCode kind>
__device__ void round(const Numbers<kind>& numbers, const float (&moment)[kEach], std::int64_t count,
                      std::uint8_t* codes, float* scale) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float largest = 0;
  for (int j = 0; j < kEach; ++j) largest = fmaxf(largest, fabsf(moment[j]));
  largest = warp_reduce<Maximum>(largest);
  if (lane == 0) *scale = largest;
  for (int j = 0; j < kEach; ++j) {
    const int i = j * kWarp + lane;
    // A quotient of two subnormal numbers may come out above 1.
    const float share = largest > 0 ? fminf(fmaxf(moment[j] / largest, -1.0f), 1.0f) : 0;
    if (i < count) codes[i] = dynamic_code(kind, share, numbers);
  }
}

/// blockIdx.y names the tensor.
template <class T>
__global__ void adamw8bit_step(AdamWCoefficients c, const __grid_constant__ Batch<AdamW8bitTensor> batch,
                               const float* device_factor) {
  __shared__ Numbers<DynamicCode::with_sign> of_m;
  __shared__ Numbers<DynamicCode::without_sign> of_v;
  of_m.fill();
  of_v.fill();
  __syncthreads();
  const AdamW8bitTensor& t = batch.tensor[blockIdx.y];
  const float factor = device_factor ? *device_factor : 1;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t blocks = (t.count + kMomentBlock - 1) / kMomentBlock;
  for (std::int64_t block = grid_index() / kWarp; block < blocks; block += grid_stride() / kWarp) {
    const std::int64_t begin = block * kMomentBlock, left = t.count - begin;
    const float m_scale = t.m_scales[block], v_scale = t.v_scales[block];
    float m[kEach], v[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int i = j * kWarp + lane;
      m[j] = v[j] = 0;
      if (i >= left) continue;
      const float g = factor * t.gradient[begin + i], w = t.master[begin + i];
      m[j] = c.beta1 * of_m.value(t.m[begin + i]) * m_scale + (1 - c.beta1) * g;
      v[j] = c.beta2 * of_v.value(t.v[begin + i]) * v_scale + (1 - c.beta2) * g * g;
      const float update = m[j] * c.correct_m / (sqrtf(v[j] * c.correct_v) + c.epsilon);
      const float next = w - c.learning_rate * (update + c.weight_decay * w);
      t.master[begin + i] = next;
      if (t.parameter) static_cast<T*>(t.parameter)[begin + i] = from_float<T>(next);
    }
    __syncwarp();  // every lane has read the scales
    round(of_m, m, left, t.m + begin, t.m_scales + block);
    round(of_v, v, left, t.v + begin, t.v_scales + block);
  }
}

}  // namespace

void adamw8bit(const AdamW& a, Element element, std::span<const AdamW8bitTensor> tensors, const float* factor,
               Stream stream) {
  in_batches(tensors, [&](const Batch<AdamW8bitTensor>& batch, unsigned count, std::int64_t longest) {
    const dim3 grid(blocks_for(moment_blocks(longest), kBlock / kWarp, kFewBlocks), count);
    with_element(element, [&]<class T>() {
      launch(adamw8bit_step<T>, {grid, kBlock}, stream, coefficients(a), batch, factor);
    });
    check_launch("adamw8bit");
  });
}

}  // namespace kernels::gpu
