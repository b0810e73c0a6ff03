// kernels/convert.h -- scaling, adding and changing the type of flat arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

namespace reference {

/// y = alpha x + beta y. beta 0 writes y without reading it; alpha 1 and beta 1 add.
void scale_add(double alpha, Input x, double beta, Output y);
/// to = x + y.
void sum(Input x, Input y, Output to);

}  // namespace reference

namespace gpu {

/// The same, from elements of one type to elements of the other or the same.
void scale_add(std::int64_t count, double alpha, Element from, const void* x, double beta, Element to, void* y, Stream);
/// Of one type, added in fp32. `to` may be x or y.
void sum(std::int64_t count, Element element, const void* x, const void* y, void* to, Stream);

}  // namespace gpu
}  // namespace kernels
