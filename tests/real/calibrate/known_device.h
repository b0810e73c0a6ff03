// tests/real/calibrate/known_device.h -- an H200 of the catalogue, and a folder for a test's files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "real/calibrate/measured_point.h"
#include "real/calibrate/usage.h"
#include "sim/cost/price.h"

namespace fake {

inline spec::Node node() {
  static const spec::Node known = [] {
    config::Faults faults;
    config::Value at;
    at.kind = config::Value::Kind::scalar;
    at.text = "dgx-h200";
    return config::Catalogue(FORERUN_SOURCE_DIR).node(at, "node", faults);
  }();
  return known;
}

/// That of the node's own key.
inline spec::Fabric fabric() {
  config::Faults faults;
  config::Value at;
  at.kind = config::Value::Kind::scalar;
  at.text = "rail-400g";
  return config::Catalogue(FORERUN_SOURCE_DIR).fabric(at, "fabric", faults);
}

inline sim::Device device() { return {node().gpu, node().calibration}; }

inline real::Machine machine() {
  const spec::Gpu gpu = node().gpu;
  return {.gpu = "NVIDIA H200",
          .major = 9,
          .minor = 0,
          .sms = gpu.sms,
          .gpus = 1,
          .memory = gpu.memory,
          .power_limit = base::Watts(700),
          .driver = "580.65.06",
          .libraries = "CUDA 13.0",
          .date = "2026-11-22"};
}

/// What one model uses.
inline const std::vector<real::Used>& models() {
  static const std::vector<real::Used> known =
      real::usage_of_models(config::Catalogue(FORERUN_SOURCE_DIR), {"llama3-8b"});
  return known;
}

/// Of its own, gone with this.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("forerun_calibrate_" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

}  // namespace fake
