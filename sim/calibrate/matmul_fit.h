// sim/calibrate/matmul_fit.h -- matmul curves from measured matmuls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/calibrate/measured_row.h"

namespace sim {

/// Sides below this are left out of fits: training has none, and their times are overhead alone.
inline constexpr std::int64_t kLeastSide = 256;

/// 2 where all three sides reach 1,024, as most of a training step's do, 0.7 elsewhere.
std::vector<double> matmul_weights(const MeasuredRows&);

/// Whether input and weight gradients are among the rows often enough for paces of their own.
bool tells_passes(const MeasuredRows&);

/// Draws the curve of a dtype to rows: ceiling and overhead, from 40 rows on ramp and wave share, too, from 1,000 on
/// smaller tiles and memory, and the paces of both gradients where tells_passes(); what they do not tell stays. Where
/// rows hold a cast its curve is drawn with them, unless a constant of it goes to its bound: then the curve that stands
/// there is taken. Tiles are 128 x 256. Starts do not depend on the curve that stands there, so that fitting again
/// changes nothing. REQUIRES: at least 5 rows.
void fit_matmul(Device&, spec::Dtype, const MeasuredRows&);

/// The pace of grouped matmuls, at most that of batched ones, and their time a group; the dtype's curve is left alone.
void fit_grouped(Device&, spec::Dtype, const MeasuredRows&);

}  // namespace sim
