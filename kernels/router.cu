// kernels/router.cu -- see router.h. A warp takes a token.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/router.h"

namespace kernels::gpu {
namespace {

__device__ std::int64_t first_token() { return static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp; }
__device__ std::int64_t token_stride() { return static_cast<std::int64_t>(gridDim.x) * kWarps; }

/// Larger probabilities come first, the lower expert among equals.
struct Candidate {
  float probability;
  int expert;

  __device__ bool before(const Candidate& o) const {
    return probability > o.probability || (probability == o.probability && expert < o.expert);
  }
};

__device__ Candidate warp_best(Candidate mine) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const Candidate other{__shfl_xor_sync(kAll, mine.probability, step), __shfl_xor_sync(kAll, mine.expert, step)};
    if (other.before(mine)) mine = other;
  }
  return mine;
}

/// Lane j gets the j-th choice. A lane looks only at what it wrote itself. Of probabilities that are no numbers none is
/// the largest: then the j-th choice is expert j, as in the reference, and its weight is no number either.
__device__ Candidate choose(const float* probabilities, int experts, int top_k) {
  const int lane = threadIdx.x % kWarp;
  Candidate mine{NAN, min(lane, experts - 1)}, last{INFINITY, -1};
  for (int j = 0; j < top_k; ++j) {
    Candidate best{-1, experts};
    for (int e = lane; e < experts; e += kWarp) {
      const Candidate candidate{probabilities[e], e};
      if (last.before(candidate) && candidate.before(best)) best = candidate;
    }
    last = warp_best(best);
    if (last.expert == experts) break;
    if (lane == j) mine = last;
  }
  return mine;
}

template <class T>
__global__ void route(Router r, const T* logits, float* probabilities, std::int32_t* experts, float* weights) {
  const int lane = threadIdx.x % kWarp;
  for (std::int64_t token = first_token(); token < r.tokens; token += token_stride()) {
    const T* row = logits + token * r.experts;
    float* p = probabilities + token * r.experts;
    float maximum = -INFINITY, total = 0;
    for (int e = lane; e < r.experts; e += kWarp) maximum = fmaxf(maximum, to_float(row[e]));
    maximum = warp_reduce<Maximum>(maximum);
    for (int e = lane; e < r.experts; e += kWarp) total += p[e] = expf(to_float(row[e]) - maximum);
    total = warp_reduce(total);
    for (int e = lane; e < r.experts; e += kWarp) p[e] /= total;
    const Candidate mine = choose(p, static_cast<int>(r.experts), static_cast<int>(r.top_k));
    const float chosen = warp_reduce(lane < r.top_k ? mine.probability : 0);
    if (lane >= r.top_k) continue;
    experts[token * r.top_k + lane] = mine.expert;
    weights[token * r.top_k + lane] = mine.probability / chosen;
  }
}

/// balance: auxiliary gradient times coefficient times experts / (tokens^2 top_k).
template <class T>
__global__ void route_gradient(Router r, float balance, const float* probabilities, const std::int32_t* experts,
                               const std::int32_t* counts, const float* dweights, T* dlogits) {
  const int lane = threadIdx.x % kWarp;
  for (std::int64_t token = first_token(); token < r.tokens; token += token_stride()) {
    const float* p = probabilities + token * r.experts;
    const bool chose = lane < r.top_k;
    const std::int32_t expert = chose ? experts[token * r.top_k + lane] : 0;
    const float mine = chose ? p[expert] : 0, dweight = chose ? dweights[token * r.top_k + lane] : 0;
    const float total = warp_reduce(mine), mean = warp_reduce(dweight * mine) / total;
    const float through = chose ? (dweight - mean) / total : 0;  // gradient of the chosen probability
    float along = mine * through;
    for (int e = lane; e < r.experts; e += kWarp) along += p[e] * balance * counts[e];
    along = warp_reduce(along);
    T* out = dlogits + token * r.experts;
    for (int e = lane; e < r.experts; e += kWarp) out[e] = from_float<T>(p[e] * (balance * counts[e] - along));
    __syncwarp();  // the chosen ones are written again, by another lane
    if (chose) out[expert] = from_float<T>(mine * (through + balance * counts[expert] - along));
  }
}

__global__ void balance_loss(Router r, float factor, const float* probabilities, const std::int32_t* counts,
                             float* loss) {
  float sum = 0;
  for (std::int64_t i = grid_index(); i < r.tokens * r.experts; i += grid_stride()) {
    sum += probabilities[i] * counts[i % r.experts];
  }
  sum = block_reduce(sum);
  if (threadIdx.x == 0) atomicAdd(loss, factor * sum);
}

double balance_factor(const Router& r) {
  const auto tokens = static_cast<double>(r.tokens);
  return r.auxiliary * static_cast<double>(r.experts) / (tokens * tokens * static_cast<double>(r.top_k));
}

}  // namespace

void router_forward(const Router& r, Element element, const void* logits, float* probabilities, std::int32_t* experts,
                    float* weights, Stream stream) {
  if (r.top_k > kWarp) throw DeviceError("router: top_k is above 32");
  with_element(element, [&]<class T>() {
    launch(route<T>, {blocks_for(r.tokens, kWarps), kBlock}, stream, r, as<T>(logits), probabilities, experts, weights);
  });
  check_launch("router forward");
}

void router_auxiliary_loss(const Router& r, const float* probabilities, const std::int32_t* counts, float* loss,
                           Stream stream) {
  if (r.tokens == 0) return;
  launch(balance_loss, {std::min(blocks_for(r.tokens * r.experts), 1024u), kBlock}, stream, r,
         static_cast<float>(balance_factor(r)), probabilities, counts, loss);
  check_launch("router auxiliary loss");
}

void router_backward(const Router& r, Element element, const float* probabilities, const std::int32_t* experts,
                     const std::int32_t* counts, const float* dweights, double auxiliary_gradient, void* dlogits,
                     Stream stream) {
  if (r.tokens == 0) return;
  const auto balance = static_cast<float>(auxiliary_gradient * balance_factor(r));
  with_element(element, [&]<class T>() {
    launch(route_gradient<T>, {blocks_for(r.tokens, kWarps), kBlock}, stream, r, balance, probabilities, experts,
           counts, dweights, as<T>(dlogits));
  });
  check_launch("router backward");
}

}  // namespace kernels::gpu
