// tests/sim/cost/toy_device.h -- 1 PFLOP/s, 1 TB/s, 100 SMs, no calibration: every number can be done in the head.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cost/price.h"

inline sim::Device toy_device() {
  sim::Device device;
  device.gpu.sms = 100;
  device.gpu.peak.fill(base::TFLOPps(1000));
  device.gpu.hbm = base::GBps(1000);
  return device;
}
