// core/spec/gpu.h -- a GPU's data sheet. How far real kernels stay below it is spec/calibration.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "core/base/units.h"
#include "core/spec/dtype.h"
#include "core/spec/generation.h"

namespace spec {

struct Gpu {
  std::string name;
  Generation generation = Generation::ampere;
  int sms = 0;                                 // streaming multiprocessors (compute units on AMD)
  base::Hertz clock;                           // boost clock at which the peaks are stated
  std::array<base::FlopRate, kDtypes> peak{};  // dense, by dtype; 0: not supported by the hardware
  base::Bytes memory;                          // what the driver offers to programs
  base::ByteRate hbm;                          // data-sheet bandwidth
  base::Bytes l2;
  base::Watts power;        // board power limit
  std::string calibration;  // name in topologies/calibrations; empty: data sheet only

  base::FlopRate peak_of(Dtype d) const { return peak[static_cast<int>(d)]; }
  bool computes(Dtype d) const { return peak_of(d).si() > 0; }
};

}  // namespace spec
