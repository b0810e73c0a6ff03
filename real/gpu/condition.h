// real/gpu/condition.h -- a card as NVML tells of it now. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/cuda/device.h"
#include "real/cuda/nvml.h"
#include "real/measure/measurement.h"

namespace real {

inline Condition condition_of(const DeviceFacts& device, const Nvml& nvml) {
  const Reading now = nvml.read(device.pci_bus_id);
  return {device.name, now.sm_clock, now.memory_clock, now.power, now.celsius, now.slowed_by, now.sm_clock};
}

}  // namespace real
