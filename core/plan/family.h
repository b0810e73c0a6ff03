// core/plan/family.h -- kinds of work in words that kernels of other programs can be sorted by as well.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/plan/work.h"

namespace plan {

/// "matmul" "attention forward" "attention backward" "convolution"; of memory-bound kernels "elementwise" "norm"
/// "softmax" "embedding" "loss" "optimizer" "copy" "reduce" "cast"; "all_reduce" "all_gather" "reduce_scatter"
/// "all_to_all" "broadcast"; "reduce_to_one"; "send_recv" (transfers, ring hops); "host_copy" (over PCIe, to files);
/// "host_sync".
std::string family_of(const Work&);

/// Ranks that take part in a collective; 0: it is none.
int members_of(const Work&);

}  // namespace plan
