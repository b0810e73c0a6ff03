// reports/difference.h -- a predicted step held against a recorded one, for people and for programs (docs/explain.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result/difference.h"
#include "reports/style.h"

namespace reports {

/// What differs in sentences, then by family.
std::string summary(const result::StepDifference&, const Style& = {});

/// The same, then the operators (or kernels) and the idle time that make most of it, as many as fit on a screen.
std::string text(const result::StepDifference&, const Style& = {});

/// One JSON object with all families and parts, indented, with a newline at its end.
std::string json(const result::StepDifference&);

/// A line for each operator of the rank, or for each kernel where the record has kernels; RFC 4180.
std::string csv(const result::StepDifference&);

/// Families that take longer or shorter than predicted, a sentence each, and those that take about as long.
struct Findings {
  std::vector<std::string> apart;
  std::string close;  // "matmul, norm"
};
Findings findings(const result::StepDifference&);

/// "matmul", "waiting in all_gather dp", "unmeasured norm"
std::string title(const result::DifferencePart&);

}  // namespace reports
