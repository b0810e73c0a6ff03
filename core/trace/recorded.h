// core/trace/recorded.h -- a Trace with what is known about the run that it tells: what recorded it, of which job, what
// kind of work each span is. Two of one job can be held against one another. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/trace.h"

namespace trace {

/// What a job is, by its keys: {"strategy.tp", "2"}. What is not known is left out.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// What spans of one kind do.
struct WorkKind {
  std::string family;  // in the words of core/plan/family.h
  int ranks = 0;       // that take part in a collective; 0: none, or not known
  auto operator<=>(const WorkKind&) const = default;
};

struct Recorded {
  std::string source;  // "simulator" "gpu" "cpu" "kineto" (PyTorch's profiler, whose spans are kernels, not operators)
  Facts facts;
  std::vector<std::string> notes;  // what a reader of its times has to know
  Trace trace;
  std::vector<WorkKind> kinds;  // by Span::work
  Ticks period = 0;             // from the first operator to the next step's; 0: not known
};

/// Whether its spans are the Plan's operators, with their tags.
inline bool tells_operators(const Recorded& recorded) { return recorded.source != "kineto"; }

}  // namespace trace
