// kernels/strided_copy_reference.cpp -- see strided_copy.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/strided_copy.h"

namespace kernels::reference {

void strided_copy(const StridedCopy& c, Input from, Output to) {
  const auto& [f0, f1, f2, f3] = c.from_stride;
  const auto& [t0, t1, t2, t3] = c.to_stride;
  for (std::int64_t i = 0; i < c.size[0]; ++i) {
    for (std::int64_t j = 0; j < c.size[1]; ++j) {
      for (std::int64_t k = 0; k < c.size[2]; ++k) {
        for (std::int64_t l = 0; l < c.size[3]; ++l) {
          to[i * t0 + j * t1 + k * t2 + l * t3] = from[i * f0 + j * f1 + k * f2 + l * f3];
        }
      }
    }
  }
}

}  // namespace kernels::reference
