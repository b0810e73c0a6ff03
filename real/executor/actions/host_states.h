// real/executor/actions/host_states.h -- what the actions of states and parameters in the host's memory, and of those
// on its drives, share. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "real/executor/actions.h"

namespace real {

/// Whose gradients go to the host: those that the collective in front has summed; where there is none, the next ones in
/// the order of the backward.
std::vector<Parameter*> leaving(Task&);

/// The i-th of the operators of a name in a segment has the i-th part of the parameters.
std::vector<Parameter*> next_tile(Task&);

/// The parameters that are fetched together with the operator's layer, or with the ends of the model.
std::vector<Parameter*> unit_of(Task&);

}  // namespace real
