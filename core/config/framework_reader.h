// core/config/framework_reader.h -- what a training framework adds to the arithmetic (workloads/frameworks/*.yaml), and
// the two maps that a strategy shares with it. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/map_reader.h"
#include "core/spec/framework.h"

namespace config {

/// Reads a framework profile. `path` is the map's own ("strategy.framework"). The map has no `base:` left.
spec::Framework read_framework(const Value& map, const std::string& path, Faults&);

/// true, false, or {norm, rope, activation, softmax, cross_entropy, grad_accumulation, permute, experts: true|false}.
spec::FusedKernels read_fused_kernels(const Value&, const std::string& path, Faults&);
/// {grad_reduce, param_gather, p2p, expert: true|false, tp: none|wgrad|chunked|userbuffers}.
spec::Overlap read_overlap(const Value&, const std::string& path, Faults&);

}  // namespace config
