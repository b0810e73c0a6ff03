// core/plan/frozen_base.h -- how the frozen weights beside low-rank adapters are kept.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/strategy.h"

namespace plan {

/// Bytes of a parameter of the frozen base, its scales included.
double base_bytes(spec::LoraBase);

}  // namespace plan
