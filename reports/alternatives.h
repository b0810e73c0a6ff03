// reports/alternatives.h -- a step beside the same one with other figures, for people and for programs
// (docs/explain.md). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/alternatives.h"
#include "reports/style.h"

namespace reports {

/// The tables that `forerun explain --what-if` prints.
std::string text(const result::Alternatives&, const Style& = {});

/// One JSON object, indented, with a newline at its end.
std::string json(const result::Alternatives&);

}  // namespace reports
