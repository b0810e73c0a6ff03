// reports/limits.h -- what fits, for people and for programs (docs/scale.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/limits.h"
#include "reports/style.h"

namespace reports {

/// The table that `forerun fit` prints.
std::string text(const result::Limits&, const Style& = {});

/// One JSON object, indented, with a newline at its end.
std::string json(const result::Limits&);

}  // namespace reports
