// sim/search/group_paces.h -- how fast the GPUs of each kind of node train the model, for cutting layers over a mixed
// cluster. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/job.h"

namespace sim {

/// Tells each group of a mixed cluster its pace (spec::NodeGroup): microbatches a second of one of its GPUs that has
/// the whole model, whatever its memory. Simulated, so that clocks under power, kernels' own curves and a host that
/// sets the pace count, where peaks would not. Groups keep no pace where the model does not run so on one of them.
/// `job`: neither checked nor resolved.
void tell_paces(spec::Job& job);

}  // namespace sim
