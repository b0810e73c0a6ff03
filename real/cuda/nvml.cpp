// SPDX-License-Identifier: Apache-2.0
#include "real/cuda/nvml.h"

#include <dlfcn.h>

#include <array>
#include <utility>

#include "core/base/fault.h"

namespace real {
namespace {

// NVML's C interface, which it keeps stable; declared here because no header can be counted on.
using Status = int;
using Handle = void*;
constexpr Status kSuccess = 0;
constexpr int kClockSm = 1, kClockMemory = 2, kSensorGpu = 0;

}  // namespace

struct Nvml::Entries {
  void* library = nullptr;
  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Status (*driver_version)(char*, unsigned) = nullptr;
  Status (*handle_by_bus)(const char*, Handle*) = nullptr;
  Status (*clock)(Handle, int, unsigned*) = nullptr;         // MHz
  Status (*power)(Handle, unsigned*) = nullptr;              // mW
  Status (*temperature)(Handle, int, unsigned*) = nullptr;   // degrees Celsius
  Status (*reasons)(Handle, unsigned long long*) = nullptr;  // bits
  Status (*power_limit)(Handle, unsigned*) = nullptr;        // mW

  void check(Status status, const char* call) const {
    if (status != kSuccess) throw base::DeviceError(std::string(call) + ": " + error_string(status));
  }
  template <class Function>
  bool load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }
  bool load_all() {
    return load(init, "nvmlInit_v2") && load(shutdown, "nvmlShutdown") && load(error_string, "nvmlErrorString") &&
           load(driver_version, "nvmlSystemGetDriverVersion") &&
           load(handle_by_bus, "nvmlDeviceGetHandleByPciBusId_v2") && load(clock, "nvmlDeviceGetClockInfo") &&
           load(power, "nvmlDeviceGetPowerUsage") && load(power_limit, "nvmlDeviceGetEnforcedPowerLimit") &&
           load(temperature, "nvmlDeviceGetTemperature") &&
           (load(reasons, "nvmlDeviceGetCurrentClocksEventReasons") ||
            load(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"));  // its name before driver 535
  }
};

Nvml::Nvml(const std::string& library) : entries_(std::make_unique<Entries>()) {
  entries_->library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!entries_->library) throw base::DeviceError("NVML cannot be loaded: " + std::string(dlerror()));
  if (!entries_->load_all()) throw base::DeviceError(library + " lacks functions that NVML has had for years");
  entries_->check(entries_->init(), "nvmlInit");
}

Nvml::~Nvml() { entries_->shutdown(); }  // the library stays loaded: NCCL uses it as well

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  entries_->check(entries_->driver_version(text.data(), text.size()), "nvmlSystemGetDriverVersion");
  return text.data();
}

Reading Nvml::read(const std::string& pci_bus_id) const {
  const Entries& nvml = *entries_;
  Handle card = nullptr;
  unsigned sm = 0, memory = 0, milliwatts = 0, celsius = 0;
  unsigned long long reasons = 0;
  nvml.check(nvml.handle_by_bus(pci_bus_id.c_str(), &card), "nvmlDeviceGetHandleByPciBusId");
  const auto told = [](Status status, auto& figure) {
    if (status != kSuccess) figure = 0;
  };
  told(nvml.clock(card, kClockSm, &sm), sm);
  told(nvml.clock(card, kClockMemory, &memory), memory);
  told(nvml.power(card, &milliwatts), milliwatts);
  told(nvml.temperature(card, kSensorGpu, &celsius), celsius);
  told(nvml.reasons(card, &reasons), reasons);
  return {.sm_clock = base::Hertz(sm * 1e6),
          .memory_clock = base::Hertz(memory * 1e6),
          .power = base::Watts(milliwatts / 1e3),
          .celsius = static_cast<int>(celsius),
          .slowed_by = clock_event_reasons(reasons)};
}

base::Watts Nvml::power_limit(const std::string& pci_bus_id) const {
  Handle card = nullptr;
  unsigned milliwatts = 0;
  entries_->check(entries_->handle_by_bus(pci_bus_id.c_str(), &card), "nvmlDeviceGetHandleByPciBusId");
  return entries_->power_limit(card, &milliwatts) == kSuccess ? base::Watts(milliwatts / 1e3) : base::Watts{};
}

std::vector<std::string> clock_event_reasons(unsigned long long bits) {
  constexpr std::array<std::pair<unsigned long long, const char*>, 8> kReasons{{{0x2, "application clocks"},
                                                                                {0x4, "power limit"},
                                                                                {0x8, "hardware slowdown"},
                                                                                {0x10, "sync boost"},
                                                                                {0x20, "heat"},
                                                                                {0x40, "heat (hardware)"},
                                                                                {0x80, "power brake"},
                                                                                {0x100, "display clocks"}}};
  std::vector<std::string> out;
  for (const auto& [bit, word] : kReasons) {
    if (bits & bit) out.emplace_back(word);
  }
  return out;
}

}  // namespace real
