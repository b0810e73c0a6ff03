// real/cuda/environment.h -- what CUDA and NCCL are told by the environment, where nobody has chosen.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace real {

/// Before the first call into either.
void choose_environment();

}  // namespace real
