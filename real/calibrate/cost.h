// real/calibrate/cost.h -- how long a point takes to time, before anything is known of the GPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/units.h"
#include "real/calibrate/shape.h"

namespace real {

/// One repetition on a GPU of 400 TFLOP/s and 2 TB/s: it orders points and begins a budget, and enters no result.
base::Seconds repetition(const Shape&);
/// All repetitions, what stands between them, and what a library needs when it first meets a shape.
base::Seconds cost(const Shape&);

}  // namespace real
