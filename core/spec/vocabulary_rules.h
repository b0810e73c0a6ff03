// core/spec/vocabulary_rules.h -- what a vocabulary cut over the pipeline's stages goes together with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/spec/job.h"

namespace spec {

/// Part of check(): empty unless the job writes vocab_parallel: pipeline.
std::vector<base::Fault> vocabulary_faults(const Job&);

}  // namespace spec
