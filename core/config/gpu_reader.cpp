// SPDX-License-Identifier: Apache-2.0
#include "core/config/gpu_reader.h"

namespace config {

spec::Gpu read_gpu(const Value& value, const std::string& path, Faults& faults) {
  spec::Gpu gpu;
  MapReader map(value, path, faults);
  map.read("name", gpu.name);
  map.require("generation", gpu.generation);
  map.require("sms", gpu.sms, 1, 10'000);
  map.require("clock", gpu.clock);
  map.require("memory", gpu.memory);
  map.require("hbm", gpu.hbm);
  map.require("l2", gpu.l2);
  map.require("power", gpu.power);
  map.read("calibration", gpu.calibration);
  if (const Value* peaks = map.child("peak")) {
    MapReader peak(*peaks, map.path_of("peak"), faults, "the dense peaks, such as peak: {bf16: 989TFLOP/s}");
    for (int d = 0; d < spec::kDtypes; ++d) peak.read(spec::kNamesOf<spec::Dtype>[d], gpu.peak[d]);
    peak.finish();
  } else if (value.kind == Value::Kind::map) {
    map.fault("peak", "is missing", "write the dense peaks, such as peak: {bf16: 989TFLOP/s}");
  }
  map.finish();
  return gpu;
}

}  // namespace config
