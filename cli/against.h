// cli/against.h -- a job's prediction and a recorded step, held against one another: --against and --measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/arguments.h"
#include "core/result/difference.h"
#include "core/spec/job.h"
#include "core/trace/recorded.h"

namespace cli {

/// Both steps with all their spans, and where they differ.
struct Against {
  trace::Recorded predicted, measured;
  result::StepDifference difference;
};

/// `option` names the file of the recorded step; --rank chooses a rank of it. Throws base::InputError: the file, the
/// rank, or a step of another job, with all that differs.
Against held_against(const spec::Job&, const Arguments&, const std::string& option);

/// The same for the prediction that the file itself holds.
Against held_against_own(const Arguments&, const std::string& option);

/// A step of this job that was recorded just now.
Against held_against(const spec::Job&, trace::Recorded measured);

}  // namespace cli
