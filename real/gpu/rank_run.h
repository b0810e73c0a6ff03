// real/gpu/rank_run.h -- one rank's part of a measurement: steps that warm up, steps that are timed, and a step that is
// recorded. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "real/cuda/device.h"
#include "real/executor/executor.h"
#include "real/gpu/card_watch.h"
#include "real/launch/world.h"
#include "real/measure/stages.h"
#include "real/measure/step_times.h"
#include "real/memory/ledger.h"

namespace real {

struct Steps {
  int warmup = 3, timed = 10;
  bool recorded = false;
  bool captured = false;  // timed steps run CUDA graphs of one step. REQUIRES: warmup >= 1
};

struct RankRun {
  StepTimes times;                             // of the timed steps
  std::vector<double> losses, gradient_norms;  // of those and of the warm-up; captured: of that and the captured one
  Ledger::ByCategory peak{};                   // of the timed steps
  std::int64_t reserved = 0;
  MemoryBeside beside;
  Condition condition;  // while steps were timed
  std::vector<std::string> plain_attention, experts_one_by_one;
  std::optional<RankTrace> trace;
};

/// Recorded ones, of which the first is slow and thrown away, and the captured one included.
constexpr int all_of(const Steps& s) { return s.warmup + s.timed + (s.recorded ? 2 : 0) + (s.captured ? 1 : 0); }

/// All ranks of the Plan at the same time, each on its device, which is current. Timed steps begin together and are
/// recorded by nobody, since recording costs the host time at each launch; the recorded step comes behind them.
/// `read` tells of the card; without it nothing is known of that.
/// Throws base::DeviceError: a rank was lost, memory does not suffice, the record is void.
RankRun run_rank(World&, const spec::Job&, const plan::Plan&, const DeviceFacts&, const Tokens&, const Steps&,
                 const ReadCard& read = {});

}  // namespace real
