// reports/html/measured_sections.h -- the sections of a measured step's page, each HTML and empty where it has nothing
// to tell. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/difference.h"
#include "core/result/measured_run.h"

namespace reports::html {

std::string losses_section(const result::MeasuredRun&);
std::string step_times_section(const result::MeasuredTime&);
std::string difference_section(const result::StepDifference&);
std::string measured_memory_section(const result::MeasuredRun&);
std::string cards_section(const result::MeasuredRun&);

/// Whether its times are those of a machine that the prediction is of.
inline bool compares_times(const result::StepDifference& d) { return d.source != "cpu"; }

}  // namespace reports::html
