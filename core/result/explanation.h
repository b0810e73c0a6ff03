// core/result/explanation.h -- the answer of `forerun explain`: what the step's critical path is made of; text and JSON
// print this one struct. Times are seconds. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace result {

/// Pieces of the path that share a category or a stage.
struct PathShare {
  std::string name;  // "matmul" "attention" "memory_bound" "tp" "dp" "pp" ... "host" "waiting"; or a stage's number
  double time_s = 0;
  std::int64_t count = 0;
};

/// Equal operators on the path.
struct PathOperator {
  std::string category, name, phase;
  std::int64_t count = 0;
  double time_s = 0;  // all of them
  double mean_s = 0;
  std::string rate_unit;  // "FLOP/s" "B/s"; empty: the work does not tell
  double rate = 0;        // FLOPs, bytes of HBM, or bus bandwidth
  double of_peak = 0;     // over the data sheet's rate for the same work; 0: not known
};

/// The step predicted again with one thing costing nothing.
struct WhatIf {
  std::string free;  // a category
  double step_time_s = 0;
};

struct Explanation {
  std::string job;  // one line: model, GPUs, strategy
  double step_time_s = 0;
  std::vector<PathShare> categories;    // largest first; they add up to the step
  std::vector<PathShare> stages;        // likewise
  std::vector<PathOperator> operators;  // largest first
  std::vector<WhatIf> what_if;          // shortest step first
  bool fits = true;                     // into the GPUs' memory
  std::vector<std::string> warnings;    // of the prediction
};

}  // namespace result
