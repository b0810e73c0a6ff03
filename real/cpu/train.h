// real/cpu/train.h -- trains a job on this machine's CPU: a thread for each rank, in double. It shows what a Plan
// computes; its times are no measurement of a GPU. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "core/trace/trace.h"
#include "real/executor/executor.h"
#include "real/launch/world.h"
#include "real/measure/measurement.h"

namespace real {

struct Trained {
  std::vector<double> losses, gradient_norms;  // by step
  /// In the widths of a GPU's types, of the steps behind the first if there are any; nothing is reserved.
  MemoryUse memory;
  std::optional<trace::Trace> trace;  // of the first rank of each role
};

/// `steps` steps of the Plan of `job`, and one more where it is to be recorded. `visit` is called by each rank's thread
/// at its end, one at a time. Throws what the first rank that failed threw.
Trained train_on_cpu(const spec::Job& job, const plan::Plan&, const Tokens&, const Settings&, int steps,
                     const Patience& = {}, const std::function<void(const Executor&)>& visit = {},
                     bool recorded = false);

}  // namespace real
