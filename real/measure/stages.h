// real/measure/stages.h -- the traces of several ranks as one. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/trace/trace.h"

namespace real {

/// A rank's step, which began at `start_ns` of its host's clock.
struct RankTrace {
  std::uint64_t start_ns = 0;
  trace::Trace trace;
};

/// Tracks one rank behind the other, each moved by as much later as its rank began: their hosts' clocks are taken to
/// agree. A receive whose send is among them begins with it and was ready before: until then it waited. The n-th send
/// on a channel meets the n-th receive. REQUIRES: traces of one Plan, at least one.
trace::Trace joined(std::vector<RankTrace>);

}  // namespace real
