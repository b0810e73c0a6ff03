// sim/economics/failure_simulation.h -- one run of a training from the first step to the last, failure by failure.
//
// While training goes on, three things may come next, each after an exponential time: a failure, the begin of a slow
// spell, its end after a fixed time. Work since the last checkpoint that is safely written is lost with a failure; the
// run is down until it was noticed, a spare node or a repaired one stands in, and the checkpoint is loaded. A
// checkpoint written beside training is safe only when its last byte is; the next one waits for that. Leaves out:
// failures while the run is down, of spares and of storage; a repaired node is as good as new.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/units.h"
#include "core/spec/purchase.h"
#include "sim/economics/goodput.h"
#include "sim/economics/random.h"

namespace sim {

struct RunModel {
  base::Hertz failures;          // of all GPUs and nodes that train
  double hardware = 0;           // share of failures that take a node out
  base::Seconds interval;        // work between two checkpoints
  base::Seconds write;           // training stands still for each
  base::Seconds written_beside;  // and beside it for so long until it is safe
  base::Seconds restart;         // from a failure, with a node to stand in, until training goes on
  base::Seconds repair;          // of a node
  int spares = 0;
  std::optional<spec::Stragglers> stragglers;  // mtbf: of the whole cluster here
};

struct RunOutcome {
  base::Seconds time, down, lost, checkpoints, slow;  // all of it; and of it: down, work done twice, standing still for
                                                      // checkpoints, more than it would be without stragglers
  std::int64_t failures = 0;
};

/// A run of `work`, seconds of undisturbed training.
RunOutcome simulate_run(const RunModel&, base::Seconds work, Random&);

/// The closed form's view of the model, where it is exact: no stragglers, nothing written beside training, and nodes
/// that fail are all waited for (no spares) or none is (no repair).
std::optional<Rhythm> closed_form(const RunModel&);

}  // namespace sim
