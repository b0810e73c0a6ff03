// real/measure/stages.h -- the traces of several ranks as one. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace real {

/// A rank's step, which began at `start_ns` of its host's clock. What has to be added for rank 0's, and by how much
/// that may be wrong, as messages told (real/launch/clock_offset.h).
struct RankTrace {
  std::uint64_t start_ns = 0;
  trace::Trace trace;
  std::int64_t offset_ns = 0, uncertainty_ns = 0;
};

struct JoinedTrace {
  trace::Trace trace;
  std::vector<std::string> notes;  // how well the clocks are known, and what in the record shows that they are not
};

/// Tracks one rank behind the other, each moved by as much later as its rank began by rank 0's clock. A receive whose
/// send is among them begins with it and was ready before: until then it waited. The n-th send on a channel meets the
/// n-th receive. REQUIRES: traces of one Plan, at least one.
JoinedTrace joined(std::vector<RankTrace>);

}  // namespace real
