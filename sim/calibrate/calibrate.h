// sim/calibrate/calibrate.h -- every curve of every calibration, fitted to kernels that others have measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/config/measured_kernels.h"
#include "core/result/calibration.h"
#include "core/spec/calibration.h"
#include "core/spec/gpu.h"

namespace sim {

/// A calibration of the catalogue and, where it is fitted to rows, the GPU whose data sheet its fractions are of.
struct Calibratable {
  spec::Calibration calibration;
  spec::Gpu gpu;
  bool fitted = false;  // to be fitted to rows
};

struct FittedCalibrations {
  std::vector<spec::Calibration> calibrations;  // all of them, in the order given
  result::KernelCalibration report;
};

/// Each curve goes to the rows of the source that has most of them; rows of others are told beside, not fitted. The
/// new curve is taken where its robust loss over those rows is not above that of the curve that stood there. What no
/// row tells (assumed curves, power, slowdowns) stays, but for copies of fitted curves (sim/calibrate/follow.h).
/// Deterministic, and a fixed point: fitting what it returned to the same rows returns the same.
FittedCalibrations calibrate_kernels(const config::KernelTables&, const std::vector<Calibratable>&);

}  // namespace sim
