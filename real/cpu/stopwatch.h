// real/cpu/stopwatch.h -- when each operator of a step ran on the CPU backend, as records that real/trace joins to
// operators as it joins a GPU's. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/plan.h"
#include "real/measure/stages.h"
#include "real/trace/records.h"

namespace real {

/// Counts operators as instances_of() does: the n-th that begins is the n-th of the step. Everything is done when a
/// call returns, so an operator lasts as long as its call, waiting for other ranks included.
class Stopwatch {
 public:
  void start() {
    records_ = {};
    on_ = true;
  }
  void stop() { on_ = false; }
  void begun();
  void ended();  // the last call decides
  const Records& records() const { return records_; }

 private:
  Records records_;
  bool on_ = false;
};

/// The step of a rank as a Trace, from its first operator on.
RankTrace recorded_step(const Stopwatch&, const plan::Plan&, int rank);

}  // namespace real
