// core/result/sensitivity.h -- the answer of `forerun explain --sensitivity`: what the step time owes to each input;
// text, CSV and JSON print this one struct (docs/explain.md). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace result {

struct InputEffect {
  std::string input;            // "gpu.hbm", as spec::Input has it
  std::string unit;             // s B B/s FLOP/s W; empty: a ratio
  double value = 0;             // SI
  double elasticity = 0;        // d log(step time) / d log(value): the mean of the next two
  double below = 0, above = 0;  // the same towards less and towards more of it; apart where the step bends or jumps
  bool exact = false;           // from prices along the critical path; otherwise by differences of whole steps
  double step_with_more_s = 0;  // step time with 10 % more of it, or as much as there can be
  std::string kind, source;     // datasheet measured assumed stated
  std::string cause;            // the interval's, of the curve that it belongs to; empty: the interval has none for it
  double interval_share = 0;    // of the variance of log(measured / predicted) that this cause explains
  double more = 0.1;            // share of itself by which it grew: below 10 % where it can be no more
};

struct Sensitivity {
  std::string job;  // one line: model, GPUs, strategy
  double step_time_s = 0;
  bool fits = true;
  std::vector<InputEffect> effects;  // the largest first
  int unused = 0;                    // inputs that price nothing in this step
  int hidden = 0;                    // that price something, but nothing that the step waits for
  int counts = 0;                    // whole numbers (SMs, tiles), of which there is no derivative
  std::vector<std::string> warnings;
};

}  // namespace result
