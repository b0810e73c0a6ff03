// sim/cost/host_time.h -- how long the host is busy with issuing an operator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/plan.h"
#include "core/spec/job.h"

namespace sim {

/// (launches launch + experts expert_launch) slowdown
/// where launch is the framework's for eager code, autograd or compiled code, `collective_launch` for what has a
/// channel; experts are those of a grouped matmul, or whose operands a cast takes, none for all else. Zero under CUDA
/// graphs. `slowdown`: of the node's host, against the x86 servers that a framework's figures are of.
base::Seconds host_time(const plan::Operator&, const plan::Plan&, const spec::Job&, double slowdown);

}  // namespace sim
