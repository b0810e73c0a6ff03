// cli/worker.h -- the program that links NVIDIA's libraries, forerun-worker: where it lies, and what its end means.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "real/launch/spawn.h"

namespace cli {

/// Runs the worker, $FORERUN_WORKER or the one beside this program, with `words`: a process for each rank, once one
/// process has found GPUs for them. Returns those that failed. It is a program of its own so that forerun starts where
/// NVIDIA's libraries are missing. Throws base::DeviceError where this build has none.
std::vector<real::Ended> run_workers(int ranks, std::vector<std::string> words);

/// The exit code that the ranks' ends mean: kAnswered where none failed. Throws base::DeviceError where a rank has not
/// told why itself.
int verdict_on(const std::vector<real::Ended>& failures);

}  // namespace cli
