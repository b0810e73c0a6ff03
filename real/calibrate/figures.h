// real/calibrate/figures.h -- what points tell besides curves: interference, clocks under load, launches, host copies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/spec/calibration.h"
#include "core/spec/gpu.h"
#include "real/calibrate/points_file.h"

namespace real {

/// Empty: no point tells it.
struct Figures {
  std::optional<double> compute_slowdown, comm_slowdown;  // over 16 and 24 SMs, as spec::Calibration has them
  std::optional<double> accumulation;                     // as spec::Calibration has it
  std::optional<double> sustained;                        // pace of long matmuls over that of short ones, at most 1
  std::optional<double> jitter;                           // relative deviation of a matmul from run to run
  Condition under_load;                                   // behind the long ones
  std::optional<base::Seconds> issue, gap, graph_gap, events;
  std::optional<base::ByteRate> to_device, to_host, both;  // pinned, large, alone; both: of the two together
  std::optional<double> copy_beside_matmul;                // to the device: time beside matmuls over that alone
};

Figures figures_of(const Points&, const spec::Gpu&);

/// Writes what the figures tell into a calibration that curves are to be fitted with, and where it comes from; the rest
/// stays.
void apply(const Figures&, const Machine&, spec::Calibration&);

/// A line each, for people: those of the host are for a node's or a framework's file.
std::vector<std::string> lines(const Figures&);

}  // namespace real
