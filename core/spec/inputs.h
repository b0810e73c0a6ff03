// core/spec/inputs.h -- every figure of hardware, calibration and framework that a prediction may rest on, by name, so
// that it can be looked up and changed: `forerun explain --sensitivity` and `--what-if` both go through this list.
//
//   for (const spec::Input& input : spec::inputs(job)) ...    // "gpu.hbm", "matmul.bf16.ceiling", "nic.bandwidth"
//   spec::set_input(job, "nic.bandwidth", 2 * value);
//
// A new figure is one line in inputs.cpp. tests/core/spec/inputs_test.cpp fails where a member of these structs is
// neither there nor among the exceptions that the test names. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/spec/job.h"

namespace spec {

/// What an input is counted in, SI. `count`: whole numbers (tiles, SMs), of which no derivative can be taken.
enum class InputUnit { seconds, bytes, byte_rate, flop_rate, watts, ratio, count };

/// The power of the second in its unit: 1 of a latency, -1 of a rate, 0 of a size or ratio. Where every input is
/// scaled by x to that power, the step takes x times as long.
int power_of_time(InputUnit);
std::string_view symbol(InputUnit);  // "s" "B" "B/s" "FLOP/s" "W"; empty of a ratio or count

struct Input {
  std::string name;  // in a mixed cluster with the node that it is of: "gpu.hbm@dgx-a100-80gb"
  InputUnit unit = InputUnit::ratio;
  double value = 0;  // SI; 0: there is none, or it costs nothing
  double least = 0;  // that it can be
  double most = std::numeric_limits<double>::infinity();
  bool shapes_plan = false;  // core/plan reads it; all others act on prices and hosts alone
  std::string kind, source;  // datasheet, measured, assumed or stated (in the Job), and where it is from
  std::string cause;         // in Prediction::interval_contributions, of the curve that it belongs to; may be empty
};

/// All of the job's, those with value 0 too. Of a curve that the GPU or path does not have, none. REQUIRES: resolved.
std::vector<Input> inputs(const Job&);

/// REQUIRES: inputs(job) has the name. A count is rounded to a whole number.
void set_input(Job&, std::string_view name, double value);

}  // namespace spec
