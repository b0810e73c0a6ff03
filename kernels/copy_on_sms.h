// kernels/copy_on_sms.h -- a copy that holds exactly so many SMs, to run beside another kernel and see what it loses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/types.h"

namespace kernels::gpu {

/// Copies `bytes` from `from` to `to`, `times` times over, on `sms` blocks that take an SM's whole shared memory each,
/// so that no two of them, and no other kernel that needs shared memory, share an SM. REQUIRES: bytes and both
/// addresses are multiples of 16; sms is at most the SMs of the device.
void copy_on_sms(int sms, const void* from, void* to, std::size_t bytes, int times, Stream);

}  // namespace kernels::gpu
