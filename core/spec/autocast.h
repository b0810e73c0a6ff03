// core/spec/autocast.h -- training under torch.autocast (training.autocast): weights, gradients and what lies between
// the blocks are in fp32, matmuls and attention in 16 bits, and PyTorch casts whatever they read in each pass.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/spec/job.h"

namespace spec {

/// What of a Job torch.autocast does not go with here; empty: it does. Source: PyTorch's documentation of torch.amp
/// (2.x): linear layers and attention run in 16 bits, norms and the loss in fp32; casts of weights are kept until the
/// forward ends.
std::string no_autocast(const Job&);

/// Fills training.autocast: the framework's, where nothing speaks against it. REQUIRES: master_weights and
/// gradient_dtype are known.
void fill_autocast(Job&);

}  // namespace spec
