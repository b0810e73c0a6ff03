// cli/exit_code.h -- what the shell is told.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cli {

inline constexpr int kAnswered = 0;
inline constexpr int kDoesNotFit = 1;    // an answer too: the step does not fit into the GPUs' memory
inline constexpr int kInputIsWrong = 2;  // the user's input, or an output that cannot be written
inline constexpr int kDeviceFailed = 3;
inline constexpr int kOurMistake = 70;    // a defect of forerun
inline constexpr int kInterrupted = 130;  // by Ctrl-C; the answer so far was given

}  // namespace cli
