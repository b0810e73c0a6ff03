// sim/cost/curves.h -- which curve prices a work; the data sheet where a calibration has none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/work.h"
#include "core/spec/calibration.h"

namespace sim {

/// The returned reference lives as long as the calibration. A family that was not calibrated gets the data sheet's
/// roofline: every fraction 1, no overhead, a wide residual, and a source that says so. A missing attention kernel is
/// priced as flash2 first, casts to narrow formats as copies.
const spec::MatmulCurve& matmul_curve(const spec::Calibration&, spec::Dtype);
const spec::AttentionCurve& attention_curve(const spec::Calibration&, spec::AttentionKernel);
const spec::MemoryCurve& memory_curve(const spec::Calibration&, plan::MemoryBound::Kind);

/// Where a calibration has none: the H200's fractions.
const spec::RecurrenceCurve& recurrence_curve(const spec::Calibration&, spec::Recurrent::Kind);

}  // namespace sim
