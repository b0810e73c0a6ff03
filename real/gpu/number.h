// real/gpu/number.h -- what the vendor's matmuls call a tensor's numbers. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/vendor/matmul.h"
#include "real/measure/element.h"

namespace real {

/// Throws std::logic_error for indices, sums and codes.
inline kernels::vendor::Number number(const Tensor& t) {
  const bool exact = element_of(t.meaning) == kernels::Element::f32;
  return exact ? kernels::vendor::Number::f32 : kernels::vendor::Number::bf16;
}

}  // namespace real
