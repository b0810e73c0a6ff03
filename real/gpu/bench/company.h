// real/gpu/bench/company.h -- work on the other stream that lasts longer than what is timed beside it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "core/base/fault.h"
#include "real/gpu/bench/kit.h"

namespace real {

/// How long `work` takes alone, so that company can be made to last: the second of two runs.
inline base::Seconds alone(const Work& work, const Kit& kit) {
  const Event begin(Event::Kind::timing), end(Event::Kind::timing);
  for (int i = 0; i < 2; ++i) {
    begin.record(kit.stream);
    work(kit.stream);
    end.record(kit.stream);
    end.synchronize();
  }
  return elapsed(begin, end);
}

/// Runs that together last `times` as long as `subject`.
inline int runs_to_outlast(base::Seconds subject, base::Seconds one, double times) {
  return 1 + static_cast<int>(std::ceil(subject / one * times));
}

/// Throws base::DeviceError unless `last`, recorded behind the company, was still to come when `subject` had ended: a
/// time beside nothing is no time beside company.
inline void expect_outlasted(const Event& subject, const Event& last) {
  subject.synchronize();
  const cudaError_t state = cudaEventQuery(last.get());
  if (state == cudaErrorNotReady) return;
  check(state, "cudaEventQuery");
  throw base::DeviceError("what should have run beside it ended first");
}

}  // namespace real
