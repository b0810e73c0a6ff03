// core/spec/context_rules.h -- what context parallelism asks of sequence, heads and attention kernel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/spec/job.h"

namespace spec {

/// Part of check(): empty at cp 1. REQUIRES: degrees and sequence of at least 1.
std::vector<base::Fault> context_faults(const Job&);

}  // namespace spec
