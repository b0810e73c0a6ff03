// real/worker/intentions.h -- what a rank of `forerun-worker run` is about to do, as ranks tell one another before they
// meet in NCCL. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "real/launch/agreement.h"
#include "real/worker/run_options.h"

namespace worker {

/// The job's keys, its Plan, the libraries, the options that decide how many steps of which kind are run, and what is
/// learned from. Throws base::InputError of --tokens that cannot be read.
real::Intentions intentions_of(const spec::Job&, const plan::Plan&, const RunOptions&);

}  // namespace worker
