// reports/json.h -- a prediction for programs: the keys of docs/output.md, schema 1.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/prediction.h"

namespace reports {

inline constexpr int kSchema = 1;  // grows when a key goes away or changes its meaning; new keys leave it

/// One JSON object, indented, with a newline at its end. Keys have a fixed order and numbers read back to the same
/// double, so that equal predictions give equal bytes. A number that is not finite is null.
std::string json(const result::Prediction&);

}  // namespace reports
