// core/plan/moved_bytes.h -- bytes that an operator is about, for views of a step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/work.h"

namespace plan {

/// Of a kernel what it reads and writes, each operand once; of communication and copies the payload, as
/// core/plan/work.h counts it. -1: an operator that moves nothing (HostSync).
std::int64_t moved_bytes(const Work&);

}  // namespace plan
