// kernels/normal.h -- numbers of a normal distribution, each had by its place alone: what a weight begins with is the
// same however it is cut. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/philox.h"
#include "kernels/types.h"

namespace kernels {

/// A matrix [rows, columns] cut out of a larger one, whose numbers are numbered from `first` on, one row `stride`
/// behind the other.
struct Normal {
  double deviation = 1;
  std::uint64_t key = 0;
  std::int64_t rows = 0, columns = 0;
  std::int64_t first = 0, stride = 0;

  std::int64_t count() const { return rows * columns; }
};

/// The number of this place, of mean 0 and deviation 1, by Box and Muller.
KERNELS_HOST_DEVICE inline double normal_at(std::uint64_t key, std::int64_t place) {
  const Four random = philox(key, static_cast<std::uint64_t>(place));
  const double u = (random.word[0] + 1.0) / 4294967296.0, v = random.word[1] / 4294967296.0;
  return sqrt(-2 * log(u)) * cos(6.283185307179586476925 * v);
}

namespace reference {

void normal(const Normal&, Output y);

}  // namespace reference

namespace gpu {

/// Computed in fp64, rounded to fp32.
void normal(const Normal&, float* y, Stream);

}  // namespace gpu
}  // namespace kernels
