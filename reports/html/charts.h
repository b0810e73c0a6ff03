// reports/html/charts.h -- every chart that Vega draws, by what it shows: the pages' sections and `forerun plot` take
// them from here. One without rows has nothing to show. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/comparison.h"
#include "core/result/prediction.h"
#include "core/result/search.h"
#include "core/result/sensitivity.h"
#include "core/result/topology.h"
#include "core/result/validation.h"
#include "core/trace/trace.h"
#include "reports/html/chart.h"

namespace reports::html {

// One step.
Chart step_chart(const result::Prediction&);  // its time, part by part
Chart gpu_use_chart(const trace::Trace&);
Chart memory_chart(const result::Prediction&);                            // by category
Chart memory_time_chart(const result::Prediction&, const trace::Trace&);  // over time
Chart communication_chart(const result::Prediction&);                     // by axis
Chart link_chart(const result::Topology&);                                // load
Chart topology_chart(const result::Topology&);
Chart sensitivity_chart(const result::Sensitivity&);
Chart interval_chart(const result::Prediction&);  // reasons for it

// Several jobs or strategies.
Chart comparison_chart(const result::Comparison&);  // step times with their intervals
Chart trade_off_chart(const result::Comparison&);   // time against memory
Chart trade_off_chart(const result::Search&);

// Steps that were measured.
Chart accuracy_chart(const result::Validation&);  // predicted against measured
Chart error_chart(const result::Validation&);     // how the errors are spread

}  // namespace reports::html
