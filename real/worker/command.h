// real/worker/command.h -- what the worker can do: one file each, listed in main.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "real/launch/world.h"

namespace worker {

struct Command {
  const char* name;  // "--smoke"
  const char* summary;
  /// Returns what rank 0 prints. Throws base::InputError, base::DeviceError, real::NoGpu.
  std::string (*run)(real::World&, const std::vector<std::string>& words);
};

extern const Command versions, ping, room, smoke, run_job, calibrate;

}  // namespace worker
