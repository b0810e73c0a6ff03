// sim/analysis/rerun.h -- the step of a job with one of its inputs changed (core/spec/inputs.h): only what the input
// acts on is worked out anew. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "core/spec/inputs.h"
#include "core/trace/trace.h"

namespace sim {

/// A job with one input changed. Plain values; several may be used at the same time on several threads.
class Rerun {
 public:
  /// `plan` is of the job as it was, and outlives this.
  Rerun(const spec::Job&, const plan::Plan& plan, const spec::Input&, double value);

  const spec::Job& job() const { return job_; }
  const plan::Plan& plan() const { return input_.shapes_plan ? own_ : plan_; }
  trace::Ticks length() const;

 private:
  spec::Job job_;
  const plan::Plan& plan_;
  const spec::Input& input_;
  plan::Plan own_;  // where the input shapes the plan
};

/// Length of the step, as sim::predict tells it but for picoseconds.
trace::Ticks length_of(const plan::Plan&, const spec::Job&);

/// In seconds: of each of the plan's works, on each kind of node, alone. The same order for every change of an input.
std::vector<double> work_prices(const plan::Plan&, const spec::Job&);

/// All that inputs act by, prices and what is not priced: hosts and slowdowns. Equal vectors, equal steps, but where
/// flows run beside the step (fidelity coupled).
std::vector<double> costs(const plan::Plan&, const spec::Job&);

}  // namespace sim
