// real/calibrate/tables.h -- timed points as the tables that curves are fitted to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/measured_kernels.h"
#include "core/spec/calibration.h"
#include "core/spec/gpu.h"
#include "real/calibrate/points_file.h"

namespace real {

/// "forerun on NVIDIA H200, 2026-11-22, driver 580.65.06, CUDA 13.0, ..."
std::string source_of(const Machine&);

/// Matmuls, attention, memory-bound operators and collectives; the rest is figures.h's. Left out and counted: void
/// points, and those that are faster than the data sheet allows, which no right result is.
config::KernelTables tables_of(const Points&, const spec::Gpu&);

/// What a fit of these points begins with: `shelf`, the curves that the catalogue has for this GPU, under another name.
/// Curves that no point tells stay as they are, and so do the sources of those.
spec::Calibration calibration_for(const Points&, const spec::Gpu&, spec::Calibration shelf, const std::string& name);

}  // namespace real
