// sim/cost/matmul.h -- time of one dense matmul, batched or not, on one GPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cost/price.h"

namespace sim {

/// C[m,n] = A[m,k] B[k,n], `batch` times.
///   math    waves SMs 2 tile_m tile_n (k / split + k_half) / (pace ceiling peak), pace: of the tile and sustained
///           w = batch split ceil(m / tile_m) ceil(n / tile_n) / SMs; waves = share ceil(w) + (1 - share) max(w, 1)
///   memory  batch (bytes (m k + k n) + out (1 or 2) m n + 8 split m n when split) / (memory hbm)
///   time    overhead + (math^4 + memory^4)^(1/4)
///   of an fp32 sum: at least as long as with a 16-bit result and accumulation 8 batch m n / hbm behind it
/// The least over tiles (whole, turned, halves, quarter) and over k in 1, 2 or 4 parts: libraries choose among such.
/// The fourth power rounds the roofline's corner, where both sides hinder each other. Accumulating reads C as well, and
/// where C is fp32 does not hide a share of that (`accumulation`), unless its bytes rule anyway; gradients of 8-bit
/// operands keep to the gradient pace, on which `math` is divided by it (Hopper promotes partial sums outside its
/// tensor cores); a part of a split k is written and read in fp32.
/// Batches in 16 bits, grouped ones not, with n or k no multiple of 8 miss the tensor cores: priced by the fp32 curve.
/// Single ones and grouped ones of sides of 256 and more keep them, at the pace of unaligned rows, by which `math` is
/// divided; of a weight gradient rows are m and n long. So it is by the paces of the passes, forward's being 1.
/// Leaves out: L2 hits, casts of operands.
/// Grouped (each of the batch with its own operands and count of tokens): the same over the grouped pace, and the
/// grouped overhead once more for each group, where a calibration has measured them; otherwise as batched.
/// An uncalibrated dtype is a plain roofline on the data sheet. REQUIRES: the GPU's peak of the dtype is above 0.
/// Fit and residual: docs/prices.md.
Price price_matmul(const plan::Matmul&, const Device&);
/// The same where the operands are `moved` bytes in memory instead, and k is cut already (implicit matmuls).
Price price_matmul(const plan::Matmul&, const Device&, double moved);

}  // namespace sim
