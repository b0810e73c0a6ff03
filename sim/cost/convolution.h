// sim/cost/convolution.h -- time of one pass of a convolution on one GPU, as an implicit matmul.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cost/price.h"

namespace sim {

/// Channels last, N samples, H input and P output positions a side, `g` groups, kernel K:
///   forward          m = N P^2       n = out / g          k = in / g K^2         g times
///   data gradient    m = N H^2       n = in / g           k = out / g K^2 / stride^2
///   weight gradient  m = out / g     n = in / g K^2       k = N P^2, cut into parts until the SMs are full
/// The matmul curve of the dtype gives the math (sim/cost/matmul.h); memory is each tensor once, for the patches of an
/// implicit matmul are read from cache: bytes (N in H^2 + N out P^2 + weights), and the fp32 parts of a cut gradient.
/// Depthwise (g = in): direct kernels without tensor cores, priced by those bytes alone on the elementwise curve.
/// Leaves out: Winograd and FFT kernels, layout changes, padding of odd channel counts.
/// REQUIRES: the GPU's peak of the dtype is above 0.
Price price_convolution(const plan::Convolution&, const Device&);

}  // namespace sim
