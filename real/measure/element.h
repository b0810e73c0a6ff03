// real/measure/element.h -- which type the GPU gives to numbers of each meaning. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "kernels/types.h"
#include "real/executor/tensor.h"

namespace real {

/// Of one number: bf16, fp32, fp64, int32, fp8.
constexpr std::int64_t bytes_of(Meaning meaning) {
  switch (meaning) {
    case Meaning::activation: return 2;
    case Meaning::exact:
    case Meaning::index: return 4;
    case Meaning::sum: return 8;
    case Meaning::code: return 1;
  }
  return 0;
}

/// What kernels call it. Throws std::logic_error for numbers that no kernel takes in either of its types.
inline kernels::Element element_of(Meaning meaning) {
  if (meaning == Meaning::activation) return kernels::Element::bf16;
  if (meaning == Meaning::exact) return kernels::Element::f32;
  throw std::logic_error("a kernel was given indices, sums or codes where it computes with numbers");
}

}  // namespace real
