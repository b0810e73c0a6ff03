// reports/interval_fit.h -- the constants behind the 80 % interval as steps tell them, for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/interval_fit.h"
#include "reports/style.h"

namespace reports {

/// A table of the constants and one of the share of rows inside, by file.
std::string interval_fit_text(const result::IntervalFit&, const Style& = {});

}  // namespace reports
