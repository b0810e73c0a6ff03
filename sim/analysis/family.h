// sim/analysis/family.h -- which curve prices a work, and how far that curve misses what was measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/plan/work.h"
#include "core/spec/network_algorithm.h"
#include "core/spec/uncertainty.h"
#include "sim/cost/price.h"
#include "sim/network/path.h"

namespace sim {

/// Works of one family are priced by one curve: where it is off, they are off together.
struct Family {
  std::string name;     // "matmul bf16", "norm kernels", "all_reduce over infiniband"; empty: it takes no time
  base::Seconds time;   // price of the work
  double residual = 0;  // standard deviation of log(measured / predicted); wider outside the shapes of the fit
};

/// The residual counts `outside_fit` times beyond the shapes that the curve was fitted to (docs/prices.md): matmuls
/// with a side below 256; flash attention of fewer than 256 or more than 40,000 tokens, or of heads wider than 128;
/// every convolution; collectives of sizes that the curve does not cover. REQUIRES: device is of the paths' cluster.
Family family_of(const plan::Work&, const Paths&, const Device&, const spec::Uncertainty&, spec::Algorithm);

}  // namespace sim
