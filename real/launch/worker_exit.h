// real/launch/worker_exit.h -- what a rank's exit status means to who started it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace real {

inline constexpr int kWorkerInputWrong = 2;
inline constexpr int kWorkerDeviceFailed = 3;
inline constexpr int kWorkerNoGpu = 77;         // nothing was wrong but that there is no GPU: CTest's word for skipped
inline constexpr int kWorkerNotLoadable = 127;  // the loader's: a library that it is linked to is missing

}  // namespace real
