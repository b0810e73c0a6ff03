// sim/cost/attention.cpp -- the formula of the header.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/attention.h"

#include <algorithm>
#include <cassert>

#include "sim/cost/curves.h"
#include "sim/cost/power.h"

namespace sim {
namespace {

constexpr double kResidualOfAnotherCard = 0.2;  // as curves that are assumed have
constexpr double kQueryBlock = 128;             // query rows of one thread block, as in the kernels of docs/prices.md

/// Keys and values of so many numbers a head, as the kernel computes them. FlashAttention 1 has kernels for 64 and 128
/// and none in between.
double head_dim_factor(const spec::AttentionCurve& curve, const plan::Attention& w, double keys, double values) {
  const spec::AttentionKernel kernel = w.kernel;
  if (values < keys && !w.values_in_keys && curve.unequal_heads > 0) return curve.unequal_heads;
  const double head_dim = (keys + values) / 2;
  if (head_dim <= 64) return curve.head_dim_64 * head_dim / 64;
  if (head_dim <= 128 && kernel == spec::AttentionKernel::flash1) return head_dim / 128;
  if (head_dim <= 128) return curve.head_dim_64 + (1 - curve.head_dim_64) * (head_dim - 64) / 64;
  const double beyond = std::min((head_dim - 128) / 128, 1.0);
  return 1 + (curve.head_dim_256 - 1) * beyond;
}

/// Below a third of the pace of the best kernel, as flash kernels are on Blackwell (0.20 and 0.66 of a B200's peak):
/// passes of 4 s are as fast there as those of 10 ms.
bool leaves_tensor_cores_idle(const Device& device, const spec::AttentionCurve& curve) {
  double best = 0;
  for (const spec::AttentionCurve& other : device.calibration.attention) best = std::max(best, other.forward);
  return curve.forward < best / 3;
}

/// As the kernel computes it: FlashAttention 1 and 2 take values as wide as queries, narrower ones are padded.
double value_dim(const plan::Attention& w, const Device& device) {
  const bool pads = wants_equal_heads(w.kernel, traits_of(device.gpu.generation).amd) && !w.values_in_keys;
  return pads ? std::max(w.head_dim, w.value_dim()) : w.value_dim();
}

/// Bytes of q, k, v and o in the dtype of the work; backward reads them and moves their gradients.
double moved_bytes(const plan::Attention& w, const Device& device) {
  const double element = spec::bytes_of(w.dtype);
  const double cached = w.kv_element > 0 ? static_cast<double>(w.kv_element) : element;
  const double width = w.head_dim + value_dim(w, device), read = w.values_in_keys ? w.head_dim : width;
  const double row = static_cast<double>(w.q_len) * w.heads * element * width +
                     static_cast<double>(w.kv_len) * w.kv_heads * cached * read;
  return row * static_cast<double>(w.batch) * (w.backward ? 2 : 1);
}

/// Sparse attention gathers keys row by row, in the backward adds to their fp32 gradients as often, and counts on the
/// L2 for it. The share of rows that the L2 has no room for comes from memory, read (and gradients written) each time.
double gathered_beyond_l2(const plan::Attention& w, const Device& device) {
  const double l2 = device.gpu.l2.si();
  if (w.kernel != spec::AttentionKernel::sparse || l2 <= 0) return 0;
  const double row = w.head_dim * spec::bytes_of(w.dtype), gradient = w.backward ? w.head_dim * 4.0 : 0;
  const double rows = static_cast<double>(w.document > 0 ? std::min(w.document, w.kv_len) : w.kv_len);
  const double missed = std::max(0.0, 1 - l2 / (rows * (row + gradient)));
  return plan::pairs_of(w) * missed * (row + 2 * gradient);  // heads share what a query gathers
}

}  // namespace

Price price_attention(const plan::Attention& w, const Device& device) {
  const bool narrow = spec::bytes_of(w.dtype) < 2;
  const spec::AttentionCurve& curve = attention_curve(device.calibration, w.kernel);
  const base::FlopRate peak = device.gpu.peak_of(narrow ? spec::Dtype::fp8 : w.dtype);
  assert(peak.si() > 0 && "a dtype without a peak is refused before pricing");
  const double q = static_cast<double>(w.q_len);
  const double kv = static_cast<double>(w.document > 0 ? std::min(w.document, w.kv_len) : w.kv_len);
  // FLOPs of a pair in one head: two matmuls forward, of which one is as wide as the values; five backward, of which
  // two.
  const double keys = w.head_dim, values = value_dim(w, device);
  const double of_pair = w.backward ? 6 * keys + 4 * values : 2 * keys + 2 * values;
  const double seen_pairs = plan::pairs_of(w);
  if (seen_pairs * of_pair <= 0) return {curve.overhead, curve.from.residual};

  const double ramp = w.backward && curve.backward_ramp > 0 ? curve.backward_ramp : curve.ramp;
  const double queries = static_cast<double>(w.batch) * q;
  const bool halved = w.causal && w.kernel != spec::AttentionKernel::mem_efficient;
  const double pairs = seen_pairs + queries * (ramp + (halved ? curve.diagonal : 0));
  const bool backward_told = w.backward && curve.backward_low_precision > 0;
  const double in_fp8 = backward_told ? curve.backward_low_precision : curve.low_precision;
  const bool cool = leaves_tensor_cores_idle(device, curve);
  const double rate = (cool ? 1 : sustained_pace(device)) * (w.backward ? curve.backward : curve.forward) * peak.si() *
                      head_dim_factor(curve, w, keys, values) * (halved ? curve.causal : 1) * (narrow ? in_fp8 : 1);
  const double seen = w.window > 0 ? std::min(static_cast<double>(w.window), kv) : kv;
  const double block = of_pair * std::min(q, kQueryBlock) * (seen + ramp);
  const double math = std::max(w.heads * pairs * of_pair / rate, block * std::max(device.gpu.sms, 1) / rate);
  const spec::MemoryCurve& copy = memory_curve(device.calibration, plan::MemoryBound::Kind::copy);
  const double bandwidth = copy.efficiency * device.gpu.hbm.si();
  const double gathered = gathered_beyond_l2(w, device) / bandwidth;  // which math waits for

  const base::Seconds busy(std::max(math + gathered, moved_bytes(w, device) / bandwidth) *
                           (w.dropout ? curve.dropout : 1));
  const bool guessed = narrow && !curve.low_precision_measured;
  const double residual = guessed ? std::max(curve.from.residual, kResidualOfAnotherCard) : curve.from.residual;
  return {curve.overhead * (w.backward ? 2 : 1) + busy, residual};
}

}  // namespace sim
