// real/launch/worker_exit.h -- what a rank's exit status means to who started it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace real {

inline constexpr int kWorkerInputWrong = 2;
inline constexpr int kWorkerDeviceFailed = 3;
inline constexpr int kWorkerNotLoadable = 127;  // the loader's: a library that it is linked to is missing

/// Nothing was wrong but that there is no GPU: CTest's word for skipped. To who sets this variable alone, CTest and
/// forerun's own spawner; torchrun, srun and mpirun are told that the run has failed.
inline constexpr int kWorkerNoGpu = 77;
inline constexpr const char* kSkipVariable = "FORERUN_SKIP_WITHOUT_GPU";

}  // namespace real
