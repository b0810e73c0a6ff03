// reports/training_run.h -- a real training run for people and as JSON (docs/output.md).
//
//   tiny-llama on 4 ranks of the CPU, in double: 25,616 parameters, synthetic tokens
//   step    loss    gradient norm
//      1  3.9524            1.201
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/training_run.h"
#include "reports/style.h"

namespace reports {

std::string training_run_text(const result::TrainingRun&, const Style& = {});
std::string training_run_json(const result::TrainingRun&);

}  // namespace reports
