// reports/html/prediction_sections.h -- the sections of a prediction's page, each HTML and empty where it has nothing
// to tell. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/prediction.h"
#include "core/result/sensitivity.h"
#include "core/result/topology.h"
#include "core/trace/trace.h"

namespace reports::html {

std::string misfit_advice(const result::Prediction&);  // what to change where it does not fit
std::string breakdown_section(const result::Prediction&);
std::string gpu_use_section(const trace::Trace&);
std::string memory_section(const result::Prediction&, const trace::Trace*);
std::string communication_section(const result::Prediction&, const result::Topology*);
std::string topology_section(const result::Topology&);
std::string sensitivity_section(const result::Sensitivity&);
std::string interval_section(const result::Prediction&);
std::string sources_section(const result::Prediction&);  // assumptions, where numbers came from, warnings

}  // namespace reports::html
