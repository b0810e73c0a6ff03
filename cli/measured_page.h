// cli/measured_page.h -- `--html FILE` of a measured step: of measure, of explain --against, of validate --measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/against.h"
#include "cli/arguments.h"
#include "core/result/measured_run.h"
#include "core/spec/job.h"

namespace cli {

struct MeasuredStep {
  const spec::Job* job = nullptr;            // whose Plan the recorded spans count works by; null: by the file's own
  const result::MeasuredRun* run = nullptr;  // null: the recorded step is all that is known
  const Against* against = nullptr;          // never null
  std::string command;                       // "measure"
};

/// Nothing where `--html` does not ask for it.
void write_measured_page(const MeasuredStep&, const Arguments&);

}  // namespace cli
