// core/result/measured_run.h -- what `forerun measure JOB --html` tells of a run besides its recorded step, on GPUs or
// on the CPU. SI units. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace result {

/// Of the steps that were timed on GPUs, without a profiler.
struct MeasuredTime {
  std::vector<double> steps_s;  // the slowest rank of each
  double median_s = 0, low_s = 0, high_s = 0;
  int warmup = 0;  // steps before those
  double tokens_per_s = 0, tflops_per_gpu = 0, mfu = 0;
  bool shares_cards = false;  // then no time means anything
};

/// Of the rank whose peak is highest: what its tensors took there, and the Plan's ledger at its own peak.
struct MeasuredMemory {
  int rank = 0;
  std::vector<std::pair<std::string, std::int64_t>> measured, planned;  // bytes by category
  std::int64_t reserved_bytes = 0;  // that the driver gave the pool; 0: there is no driver
};

/// A card while steps were timed: median clocks, mean power, the highest temperature. 0: the driver does not tell it.
struct MeasuredCard {
  std::string gpu;
  double sm_clock_hz = 0, memory_clock_hz = 0, power_w = 0;
  int celsius = 0;
  std::vector<std::string> slowed_by;
  double lowest_sm_clock_hz = 0;
};

struct MeasuredRun {
  std::string job;      // one line
  std::string backend;  // "gpu" "cpu"
  int ranks = 1;
  std::vector<double> losses;                         // nats a token, by step, warm-up included; NaN: it was none
  std::vector<std::optional<double>> gradient_norms;  // nothing where no stage knows it
  std::optional<MeasuredTime> time;                   // of a CPU none is told
  MeasuredMemory memory;
  std::vector<MeasuredCard> cards;  // by rank
  std::string driver;
  std::vector<std::string> notes;
};

}  // namespace result
