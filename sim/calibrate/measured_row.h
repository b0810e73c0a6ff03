// sim/calibrate/measured_row.h -- a measured kernel as a work of the plan, priced as predictions price it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/config/measured_kernels.h"
#include "sim/cost/price.h"

namespace sim {

/// The device as short benchmark runs see it: clocks do not fall, no board is slower than another.
Device short_run(const Device&);

/// Time of a row on a device: of both passes where the row is their sum, with the cast that a row holds. A row of a
/// short run is priced on `cool`, one of a long run on `sustained`.
base::Seconds time_of(const config::MeasuredKernel&, const Device& cool, const Device& sustained);

/// The kernel of an attention row that names none: what Transformer Engine takes on such a GPU.
spec::AttentionKernel kernel_of(const config::AttentionRow&, const spec::Gpu&);

using MeasuredRows = std::vector<const config::MeasuredKernel*>;

/// log(predicted / measured) of each row.
std::vector<double> log_errors(const MeasuredRows&, const Device&);

/// A fitted number as it is written: four digits.
double rounded(double value);

}  // namespace sim
