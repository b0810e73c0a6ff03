// reports/text.h -- a prediction for people: one screen, at most 100 columns unless more are there.
//
//   Step time         12.3 s    80 % interval 11.5 s to 13.3 s
//   Where the time goes, stage 3 (the slowest)
//     compute        9.12 s   74.1 %  ██████████████████████
//     bubble         1.01 s    8.2 %  ██
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/prediction.h"
#include "reports/style.h"

namespace reports {

/// Ends with a newline. Entries of the breakdown that are zero are left out, so what is shown still adds up.
std::string summary(const result::Prediction&, const Style& = {});

}  // namespace reports
