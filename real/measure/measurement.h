// real/measure/measurement.h -- what a run on GPUs measured, computed once; text and JSON print it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/units.h"
#include "real/measure/step_times.h"
#include "real/memory/ledger.h"

namespace real {

/// A rank's card at one time, or over several readings: median clocks, mean power, the highest temperature, whatever
/// slowed it. A figure is 0 where the driver does not tell it.
struct Condition {
  std::string gpu;  // "NVIDIA H200"
  base::Hertz sm_clock, memory_clock;
  base::Watts power;
  int celsius = 0;
  std::vector<std::string> slowed_by;
  base::Hertz lowest_sm_clock = {};
  int readings = 1;
};

/// REQUIRES: at least one reading, all of one card.
Condition summary_of(const std::vector<Condition>& readings);

/// "NVIDIA H200, SMs 1.98 GHz, memory 3.20 GHz, power 690 W, 61 degrees Celsius, slowed by heat"; what is 0 is unknown.
std::string to_string(const Condition&);

/// What is taken on a card beside the pool, by everybody on it: the context and the kernels' code (and other programs)
/// before the run begins, then what communicators, streams and the first step add to that.
struct MemoryBeside {
  std::int64_t at_start = 0, communicators = 0, first_step = 0;  // bytes
};

/// The rank whose memory was highest.
struct MemoryUse {
  int rank = 0;
  Ledger::ByCategory measured{}, planned{};  // at their peaks
  std::int64_t reserved = 0;                 // that the driver gave the pool
  MemoryBeside beside = {};
};

struct Measurement {
  std::string job;                 // one line for people
  std::string text = "synthetic";  // what was learned from: made up, or a file
  int gpus = 1, warmup = 0;
  StepTimes steps;  // of the slowest rank in each
  Spread time;
  double tokens = 0, model_flops = 0;  // of one step, all ranks
  base::FlopRate peak;                 // of one GPU, dense, bf16, by the job's data sheet; 0: not known
  std::vector<double> losses;          // by step, warm-up included
  std::vector<double> gradient_norms;
  MemoryUse memory;
  std::vector<Condition> conditions;  // by rank
  std::string driver;
  std::vector<std::string> plain_attention;     // why cuDNN's was not used, once each
  std::vector<std::string> experts_one_by_one;  // why one kernel did not compute them all, once each
  bool shares_cards = false;                    // then no time means anything

  double tokens_per_second() const { return tokens / time.median.si(); }
  double model_flops_per_second_per_gpu() const { return model_flops / time.median.si() / gpus; }
  double mfu() const { return peak.si() > 0 ? model_flops_per_second_per_gpu() / peak.si() : 0; }
};

/// For people; ends with a newline.
std::string text(const Measurement&);
/// docs/real-mode.md has the keys.
std::string json(const Measurement&);

}  // namespace real
