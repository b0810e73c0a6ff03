// sim/economics/run_model.h -- a predicted step and a plan's failure rates become the model of a whole run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/prediction.h"
#include "core/spec/purchase.h"
#include "sim/economics/failure_simulation.h"

namespace sim {

/// Weights and optimizer states of the whole model, once. `job`: resolved.
base::Bytes checkpoint_bytes(const spec::Job& job);

/// Without spares. The interval is a whole number of steps, the nearest to the best one (or to the plan's), and no
/// shorter than writing takes.
RunModel run_model(const spec::Purchase&, const spec::Job&, const result::Prediction&);

/// The same run when each step takes `factor` times as long.
RunModel with_steps(RunModel, double factor);

/// Whether a run would take a hundred times its `work` or more: failures come before anything is saved, or saving takes
/// a hundred times what it saves.
bool hopeless(const RunModel&, base::Seconds work);
/// Which of the two it is.
std::string words_of_hopeless(const RunModel&, base::Seconds work);

}  // namespace sim
