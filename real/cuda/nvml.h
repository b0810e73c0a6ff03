// real/cuda/nvml.h -- clocks, power and temperature of a card while it works.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace real {

/// A figure is 0 where the driver does not tell it: a slice of a card (MIG) and some virtual ones have no power.
struct Reading {
  base::Hertz sm_clock, memory_clock;
  base::Watts power;
  int celsius = 0;
  std::vector<std::string>
      slowed_by;  // "power limit", "heat", ...: why clocks are below what they could be; empty: nothing
};

/// NVML is loaded when one is made, not linked: it comes with the driver, and its header with neither toolkit nor
/// system.
class Nvml {
 public:
  /// Throws base::DeviceError when the library is missing or refuses.
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();

  std::string driver_version() const;  // "580.65.06"
  /// `pci_bus_id` as DeviceFacts has it: NVML numbers cards in another way than CUDA.
  Reading read(const std::string& pci_bus_id) const;
  /// That holds for the board at present; 0: the driver does not tell.
  base::Watts power_limit(const std::string& pci_bus_id) const;

 private:
  struct Entries;
  std::unique_ptr<Entries> entries_;
};

/// The set bits of NVML's clock event reasons as words; idle is none.
std::vector<std::string> clock_event_reasons(unsigned long long bits);

}  // namespace real
