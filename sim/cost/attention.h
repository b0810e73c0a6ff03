// sim/cost/attention.h -- time of one pass of fused attention on one GPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cost/price.h"

namespace sim {

/// Forward, or backward with its recomputed scores (2.5 times the FLOPs).
///   keys     pairs of the mask + q (ramp + diagonal when causal)          for one head of one sequence
///            (a ramp of its own in a backward pass)
///   math     n 4 batch heads head_dim keys / rate, n = 1 or 2.5; at least the longest block of 128 queries on its SM
///   rate     (forward or backward) peak head_dim_factor (causal factor) sustained pace
///   memory   q, k, v, o once (twice in backward) / (copy efficiency hbm); grouped K and V count once
///   time     overhead (twice in backward: two kernels) + max(math, memory) dropout
/// Below a quarter of the best kernel's pace tensor cores idle, and the pace is not a sustained one (power.h).
/// head_dim_factor is linear between 64, 128 and 256; below 64 a head is padded to 64. fp8 and narrower run against the
/// peak of fp8, at a share of their own in each pass. Leaves out: whole-block waste of narrow windows (below 512 tokens
/// the price is about 30 % too low), deterministic backward. Where values are narrower than queries (latent attention:
/// 192 and 128) each matmul counts its own width, head_dim_factor is taken at their mean, and flash1 and flash2 pad the
/// values. Sparse attention counts the keys chosen for each query, and behind its math waits for those rows that the L2
/// has no room for. An uncalibrated kernel is priced as flash2, and without that as a roofline on the data sheet.
/// REQUIRES: the GPU's peak of the dtype is above 0. Fit and residual: docs/prices.md.
Price price_attention(const plan::Attention&, const Device&);

}  // namespace sim
