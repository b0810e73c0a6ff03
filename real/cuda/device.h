// real/cuda/device.h -- the GPUs that this process sees, or why it can use none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/fault.h"
#include "core/base/units.h"

namespace real {

/// There is nothing to run on here. Told apart from a GPU that failed: a test is then skipped.
struct NoGpu : base::DeviceError {
  using base::DeviceError::DeviceError;
};

struct DeviceFacts {
  int index = 0;
  std::string name;
  std::string uuid;          // 16 bytes, the card's own: equal in all processes
  std::string pci_bus_id;    // "0000:0F:00.0", which NVML takes
  int major = 0, minor = 0;  // compute capability
  int sms = 0;
  base::Bytes memory;
};

/// At least 1; throws NoGpu that says what is missing: a card, a driver, or a newer driver.
int device_count();
DeviceFacts facts(int device);
/// Bytes that are free on the current device at present.
base::Bytes free_memory();

/// What a process is told whose first call into CUDA came back with `status` (a cudaError_t) or found `count` devices.
/// `driver` and `runtime` are CUDA versions as CUDA tells them, 13000 for 13.0; driver 0: none is loaded.
std::string why_no_gpu(int status, int count, int driver, int runtime);

/// Makes `device` the calling thread's for as long as this lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

}  // namespace real
