// reports/explanation.h -- the critical path of a step, for people and for programs (docs/explain.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/explanation.h"
#include "reports/style.h"

namespace reports {

/// The table that `forerun explain` prints; the operators that take most, as many as fit on a screen.
std::string text(const result::Explanation&, const Style& = {});

/// One JSON object with all operators, indented, with a newline at its end.
std::string json(const result::Explanation&);

}  // namespace reports
