// sim/against/job_facts.h -- what makes two steps comparable: how two jobs in key and value differ.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/fault.h"
#include "core/spec/job.h"
#include "core/trace/recorded.h"

namespace sim {

/// A fault for each key that both have with different values. REQUIRES: `job` is plan::facts_of() some job.
std::vector<base::Fault> conflicts(const trace::Facts& job, const trace::Facts& recorded);

/// Why the record may be of another job though no key of it says so, in words: its device is not the job's GPU, it
/// tells of one GPU alone, or real mode recorded it and the job is predicted as a framework runs it. REQUIRES: a
/// resolved job.
std::vector<std::string> doubts(const spec::Job&, const trace::Recorded&);

}  // namespace sim
