// cli/measure_job.h -- forerun measure JOB: the words for the workers, and the timeline made of what they recorded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "core/spec/job.h"
#include "core/trace/trace.h"

namespace cli {

/// A measurement that was asked for, found sound before any GPU is looked for.
struct MeasuredJob {
  spec::Job job;
  int gpus = 1;
  std::vector<std::string> words;  // for forerun-worker: "run", the Job's path, options
  std::string recorded;            // where the workers leave the trace; empty: none is asked for
};

/// Throws base::InputError: faults of the Job, what real mode does not compute, GPUs that do not fit the Job.
MeasuredJob measured_job(const Arguments&, int gpus_given);  // 0: not given
/// Writes prediction and recorded step as one timeline for ui.perfetto.dev, if --trace asks for it.
void write_timeline(const MeasuredJob&, const Arguments&);
/// The same of a step that `source` recorded: gpu, cpu.
void write_timeline(const spec::Job&, trace::Trace recorded, const std::string& source, const Arguments&);

}  // namespace cli
