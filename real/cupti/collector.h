// real/cupti/collector.h -- records what the GPU runs while it lives, each launch under the operator that made it.
//
//   real::Collector collector;             // before the first CUDA call of the process
//   { const real::OperatorScope scope(7); launch(...); }
//   real::Records records = collector.take();
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include "real/trace/records.h"

namespace real {

/// Throws what a Collector would: to be asked before a run that ends with one.
void expect_no_other_profiler();

/// One a process at a time, and only where no other profiler is at work: CUPTI has one client. Recording costs a few
/// microseconds of the host at each launch and about one between short kernels, so a step's time comes from a run
/// without it, its operators' durations from one with.
class Collector {
 public:
  /// Throws base::DeviceError; names the profiler that is already there.
  Collector();
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Waits for all devices' work and hands over everything since the start or the last take().
  Records take();

 private:
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

/// Launches of this thread belong to `instance` while this lives; the innermost scope counts.
class OperatorScope {
 public:
  explicit OperatorScope(OperatorInstance instance);
  ~OperatorScope();
  OperatorScope(const OperatorScope&) = delete;
  OperatorScope& operator=(const OperatorScope&) = delete;
};

}  // namespace real
