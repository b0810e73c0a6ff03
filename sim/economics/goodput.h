// sim/economics/goodput.h -- what failures and checkpoints cost a run, in closed form, and the best time between two
// checkpoints.
//
// Failures come at a constant rate `l` while training or writing. Work is done in segments of tau, each followed by a
// checkpoint that takes delta; a failure throws the run back to the last one and costs R until it goes on there. The
// time of a segment obeys E = P(no failure) (tau + delta) + P(failure) (E[time until it] + R + E), so that
//   E = (e^(l (tau + delta)) - 1) (1 / l + R)                                                exact for any law of R of
//   that mean
// Sources: Young, CACM 17(9), 1974; Daly, Future Generation Computer Systems 22(3), 2006.
// Leaves out: failures while the run is down, and checkpoints that are written beside training (failure_simulation.h
// has those). SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/units.h"

namespace sim {

struct Rhythm {
  base::Hertz failures;    // of the whole cluster, a second of uptime
  base::Seconds interval;  // tau: work between two checkpoints
  base::Seconds write;     // delta: training stands still for each
  base::Seconds down;      // R: mean, from a failure until training goes on at the last checkpoint
};

/// Expected time until `work` and the checkpoint behind it are done.
base::Seconds expected_segment(const Rhythm&, base::Seconds work);

/// Expected time of a run of `work`: whole segments, and a last one of the rest; what is trained is saved at its end.
base::Seconds expected_run(const Rhythm&, base::Seconds work);

/// Young's first-order estimate of the best interval: sqrt(2 delta / l).
base::Seconds young_interval(base::Seconds write, base::Hertz failures);
/// Daly's estimate of higher order, for delta < 2 / l; 1 / l beyond.
base::Seconds daly_interval(base::Seconds write, base::Hertz failures);
/// The interval at which a long run takes least: 1 - l tau = e^(-l (tau + delta)), solved. It does not depend on R.
base::Seconds best_interval(base::Seconds write, base::Hertz failures);

}  // namespace sim
