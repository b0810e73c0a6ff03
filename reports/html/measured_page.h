// reports/html/measured_page.h -- the pages of a measured step: of `forerun measure JOB --html`, and of a recorded step
// that `explain --against` and `validate --measured` hold against the prediction. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "core/result/difference.h"
#include "core/result/measured_run.h"
#include "reports/html/timeline.h"

namespace reports {

/// What the page tells; sections without their part are left out.
struct MeasuredReport {
  const result::MeasuredRun* run = nullptr;            // null: the step alone is known
  const result::StepDifference* difference = nullptr;  // null: no step was recorded. One of the two is there
  std::vector<html::TitledTrace> traces;               // "predicted" above "measured"
  std::vector<std::int64_t> bytes_of_work;             // by Span::work of the Plan; -1: none
  std::string command, version;                        // "measure"; of forerun
};

/// Times of a CPU stand beside those predicted for a GPU as shares of their own step and are never compared with them.
/// REQUIRES: html::has_vega()
void write_html(const MeasuredReport&, std::ostream&);

}  // namespace reports
