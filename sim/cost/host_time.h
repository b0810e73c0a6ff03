// sim/cost/host_time.h -- how long the host is busy with issuing an operator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/plan.h"
#include "core/spec/job.h"

namespace sim {

/// launches launch slowdown + fetches module_fetch slowdown + experts expert_launch
/// where launch is the framework's for eager code (`plain_launch` on one rank or under zero 0 and 1 alone), autograd or
/// compiled code, all of an operator at least its share of `module_launch` for a matmul of its own and fused attention,
/// `collective_launch` for what has a channel, and `pipelined_tp_launch` more for each tensor-parallel rank where
/// shards are multiplied as they come and stages reach one another over the fabric; fetches are the passes of linear
/// layers, but for adapters, under zero 3 in training over several ranks, where hooks around each module gather its
/// parameters and let them go (DeepSpeed); experts are those of a grouped matmul, or whose operands a cast takes, none
/// for all else. Zero under CUDA graphs, where they are of all but the experts for those and what has a channel alone.
/// `slowdown`: slowdown_of() the node's host; experts are issued from C++, which it is not told of.
base::Seconds host_time(const plan::Operator&, const plan::Plan&, const spec::Job&, double slowdown);

/// How many times a framework's host times this host takes: its launch_slowdown over that of the hosts on which they
/// were taken, but no less than 1 where it is a slow one.
double slowdown_of(const spec::Host&, const spec::Framework&);

}  // namespace sim
