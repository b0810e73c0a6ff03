// reports/scaling.h -- scaling curves for people, programs and spreadsheets (docs/scale.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/scaling.h"
#include "reports/style.h"

namespace reports {

/// The tables that `forerun scale` prints.
std::string text(const result::Scaling&, const Style& = {});

/// One JSON object, indented, with a newline at its end.
std::string json(const result::Scaling&);

/// A line a point.
std::string csv(const result::Scaling&);

}  // namespace reports
