// tests/emulated_gpu/libraries/nvml.cpp -- NVML, which real mode loads by its name (real/cuda/nvml.cpp): an idle card.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {

using Status = int;
using Handle = void*;

/// NVML_ERROR_NOT_SUPPORTED for what a slice of a card (MIG) is not told.
static Status of_a_whole_card() { return std::getenv("FORERUN_EMULATED_SLICE") == nullptr ? 0 : 3; }

Status nvmlInit_v2() { return 0; }
Status nvmlShutdown() { return 0; }
const char* nvmlErrorString(Status) { return "the emulated GPU refuses this"; }
Status nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::snprintf(text, bytes, "emulated");
  return 0;
}
Status nvmlDeviceGetHandleByPciBusId_v2(const char* bus, Handle* card) {
  static int one;
  *card = &one;
  return std::strncmp(bus, "0000:", 5) == 0 ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}
Status nvmlDeviceGetClockInfo(Handle, int, unsigned* mhz) {
  *mhz = 1000;
  return of_a_whole_card();
}
Status nvmlDeviceGetPowerUsage(Handle, unsigned* milliwatts) {
  *milliwatts = 70'000;
  return of_a_whole_card();
}
Status nvmlDeviceGetEnforcedPowerLimit(Handle, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}
Status nvmlDeviceGetTemperature(Handle, int, unsigned* celsius) {
  *celsius = 30;
  return of_a_whole_card();
}
Status nvmlDeviceGetCurrentClocksEventReasons(Handle, unsigned long long* bits) {
  *bits = 0x4;
  return of_a_whole_card();
}

}  // extern "C"
