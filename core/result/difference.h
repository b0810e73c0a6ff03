// core/result/difference.h -- two Traces of one step held against one another: where the difference of the step times
// lies. Text, JSON and CSV print this one struct. Times are whole picoseconds, so that sums are exact.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace result {

/// What operators of one side took.
struct OperatorTime {
  std::int64_t count = 0;
  std::int64_t busy_ps = 0;             // from ready to end, hidden or not: waiting for other ranks is in it
  std::int64_t waiting_ps = 0;          // of that, for other ranks; what records of collectives do not tell apart
  std::int64_t in_step_ps = 0;          // of the step: what no operator of the compute stream hides
  std::int64_t waiting_in_step_ps = 0;  // of that, while it waits
  OperatorTime& operator+=(const OperatorTime& other) {
    count += other.count;
    busy_ps += other.busy_ps;
    waiting_ps += other.waiting_ps;
    in_step_ps += other.in_step_ps;
    waiting_in_step_ps += other.waiting_in_step_ps;
    return *this;
  }
};

/// A part of the step in both traces. The in_step_ps of all parts add up to the step, on either side. What operators
/// wait for other ranks is a part of its own where the record tells it, and in their time on both sides where it does
/// not.
struct DifferencePart {
  enum class Kind : std::uint8_t { operators, only_predicted, only_measured, waiting, idle };
  Kind kind = Kind::operators;
  std::string family;  // "matmul", "all_gather dp"; of idle time "idle"
  std::string name;    // of the operators; of what began behind idle time. Empty: of the whole family
  std::string phase;
  OperatorTime predicted, measured;
  std::int64_t difference_ps() const { return measured.in_step_ps - predicted.in_step_ps; }
};

/// One operator's one execution.
struct AlignedOperator {
  std::string stream, family, name, phase;
  int microbatch = -1, chunk = -1, layer = -1;
  bool has_predicted = false, has_measured = false;
  std::int64_t predicted_start_ps = 0, measured_start_ps = 0;
  OperatorTime predicted, measured;
};

struct StepDifference {
  std::string job;                                 // one line: model, GPUs, strategy; empty: not known
  std::string trace;                               // the measured one's file
  std::string source;                              // what recorded it: "gpu" "cpu" "kineto"
  int rank = 0, stage = 0;                         // whose step is told
  std::int64_t predicted_ps = 0, measured_ps = 0;  // from the first operator of any rank to the end of the last
  bool by_operator = true;                 // the measured trace has operators; otherwise kernels, by family alone
  std::vector<DifferencePart> families;    // largest difference first; parts of a kind and family, summed
  std::vector<DifferencePart> parts;       // likewise; empty unless by_operator
  std::vector<AlignedOperator> operators;  // by start; empty unless by_operator
  std::vector<DifferencePart> kernels;     // measured ones by name, most time first; empty if by_operator
  std::vector<std::string> notes;
  std::int64_t difference_ps() const { return measured_ps - predicted_ps; }
};

}  // namespace result
