// core/result/comparison.h -- the answer of `forerun compare`: several jobs side by side; text, JSON and CSV print this
// one struct. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result/prediction.h"

namespace result {

struct ComparisonRow {
  enum class Status { fits, does_not_fit, refused };
  Status status = Status::refused;
  std::string job;                                          // the operand; empty when flags alone make the job
  std::vector<std::pair<std::string, std::string>> varied;  // path and value as written: {"strategy.tp", "4"}
  Prediction prediction;                                    // unless refused
  std::string refusal;                                      // refused: the first fault, in one line
};

constexpr std::string_view name(ComparisonRow::Status status) {
  switch (status) {
    case ComparisonRow::Status::fits: return "fits";
    case ComparisonRow::Status::does_not_fit: return "does_not_fit";
    case ComparisonRow::Status::refused: break;
  }
  return "refused";
}

struct Comparison {
  enum class Order { step_time, tokens_per_gpu } order = Order::step_time;
  std::vector<ComparisonRow>
      rows;  // those that fit, best first; those that do not, fewest bytes too many first; refused ones
};

/// What the throughputs of its rows count: "tokens", "samples", or "items" where jobs of both kinds are compared.
std::string counted(const Comparison&);

/// What the times of its rows are of, as of a prediction (pace_name, pace_key): of steps unless all of them decode.
std::string pace_name(const Comparison&);
std::string pace_key(const Comparison&);

/// Whether rows that were predicted stand on different numbers of GPUs.
bool gpus_differ(const Comparison&);

/// Time that communication adds to a step, of all axes, in seconds.
double exposed_s(const Prediction&);

/// How many times as long a row takes as the best one that fits (as the best of all where none fits), by what the rows
/// are ordered by; 1 is as good. 0: refused.
double slowdown(const Comparison&, const ComparisonRow&);

/// What a row is warned of and not every other one is.
std::vector<std::string> own_warnings(const Comparison&, const ComparisonRow&);

}  // namespace result
