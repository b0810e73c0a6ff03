// real/executor/actions/step.h -- what the optimizer's step on the GPU and that on the host have in common.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/actions.h"

namespace real {

/// Elements, the first ones of its owned range, by which this rank adds to the norm of all gradients.
std::int64_t counted_elements(const Task&, const Parameter&);
/// The largest norm that is let pass.
double largest_norm(const Task&);
/// The weights of its owned range, and states, by the job's optimizer; the gradient is clipped.
void update_parameter(Task&, Parameter&, const Tensor& weight);
void update_parameter_on_host(Task&, Parameter&);

}  // namespace real
