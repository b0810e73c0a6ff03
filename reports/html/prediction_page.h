// reports/html/prediction_page.h -- the page of `forerun predict --html`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/result/prediction.h"
#include "core/result/sensitivity.h"
#include "core/result/topology.h"
#include "reports/html/timeline.h"

namespace reports {

/// What the page tells besides the prediction; sections without their part are left out.
struct PredictionReport {
  const result::Prediction* prediction = nullptr;  // never null
  std::vector<html::TitledTrace> traces;           // the first is told of; all are in the timeline
  std::vector<std::int64_t> bytes_of_work;         // by Span::work; -1: none
  const result::Sensitivity* sensitivity = nullptr;
  const result::Topology* topology = nullptr;
  std::string version;  // of forerun
};

/// REQUIRES: html::has_vega()
void write_html(const PredictionReport&, std::ostream&);

}  // namespace reports
