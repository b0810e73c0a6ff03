// sim/alternatives.h -- the step predicted again with figures of its hardware, calibration or framework changed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result/alternatives.h"
#include "core/spec/change.h"

namespace sim {

/// Each change alone, and all of them together. Throws base::InputError where a changed job is not sound. REQUIRES:
/// check(job).empty() and resolved; config::read_changes made the changes of that job.
result::Alternatives alternatives(const spec::Job&, const std::vector<spec::Change>&);

}  // namespace sim
