// core/config/kineto.h -- the Chrome trace of PyTorch's profiler (Kineto): what a GPU ran in one step of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "core/trace/recorded.h"

namespace config {

struct KinetoStep {
  int number = -1;          // of ProfilerStep#number; -1: the file marks no steps, and this is all of it
  trace::Ticks length = 0;  // from its first kernel to the next step's; of the last step, to its last kernel's end
  std::size_t kernels = 0;  // kernels, copies and fills
};

struct KinetoTrace {
  trace::Recorded recorded;  // of the chosen step
  int step = -1;
  std::vector<KinetoStep> steps;
};

/// The step of this number, or else the one of median length among those that another one follows. A kernel belongs to
/// the step in whose annotation the host launched it. A track is a stream: "compute" that with the most time that is
/// not communication, the others "stream 7". Spans are kernels, copies and fills, with a family each; `rank` is told by
/// the file, 0 otherwise, and the stage is unknown (0). Memory is a hundred bytes a kernel and twenty a launch,
/// whatever else the file holds. Throws base::InputError: no Chrome trace, nothing of a GPU in it, no such step.
KinetoTrace read_kineto(const std::string& path, std::optional<int> step = {});  // packed or not
KinetoTrace read_kineto(std::istream&, const std::string& name, std::optional<int> step = {});

}  // namespace config
