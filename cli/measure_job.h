// cli/measure_job.h -- forerun measure JOB: the words for the workers, and what is made of the step that they recorded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/against.h"
#include "cli/arguments.h"
#include "core/spec/job.h"

namespace cli {

/// A measurement that was asked for, found sound before any GPU is looked for.
struct MeasuredJob {
  spec::Job job;
  int gpus = 1;
  std::vector<std::string> words;  // for forerun-worker: "run", the Job's path, options
  std::string recorded;            // where the workers leave the trace; empty: none is asked for
  std::string result;              // where they leave what they measured; empty: nobody here reads it
};

/// Throws base::InputError: faults of the Job, what real mode does not compute, GPUs that do not fit the Job.
MeasuredJob measured_job(const Arguments&, int gpus_given);  // 0: not given
/// What --trace and --html ask for, of what the workers left; takes it away.
void write_recorded(const MeasuredJob&, const Arguments&);
/// Prediction and recorded step as one timeline for ui.perfetto.dev, if --trace asks for it.
void write_timeline(const Against&, const Arguments&);

}  // namespace cli
