// sim/alternatives.h -- the step predicted again with figures of its hardware, calibration or framework changed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/alternatives.h"
#include "core/spec/change.h"

namespace sim {

/// Each change alone, and all of them together that can be: one that no sound job comes of, or whose step cannot be
/// simulated, is among the refused ones, beside those that were refused before. REQUIRES: check(job).empty() and
/// resolved; config::read_changes made the changes of that job.
result::Alternatives alternatives(const spec::Job&, const spec::Changes&);

}  // namespace sim
