// reports/perfetto.h -- a Trace as Chrome's JSON trace events, which ui.perfetto.dev opens: a process for each role (or
// rank), a thread for each stream, arrows from an operator to the one that waited for it, and a counter of memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "core/trace/recorded.h"

namespace reports {

/// Writes as it goes and holds only the arrows between stages. Times are microseconds with picosecond decimals; the
/// same trace gives the same bytes. A failing stream is the caller's to notice.
///
/// Arrows inside a process go from the last operator of the awaited stream that had ended when the waiting one started.
/// Arrows between processes join the n-th send on a channel with the n-th receive on it; where several ranks of a stage
/// use one channel (an unfolded run), the k-th sending rank meets the k-th receiving one. One
/// whose receive had ended before its send began, on clocks that differ, is left out.
void write_perfetto(const trace::Trace&, std::ostream&);

/// Several traces of one step in one timeline, each with its own processes, "measured: stage 0, rank 0"; all begin at
/// 0. A trace begins with its first operator. What is recorded of the last one stands at the head, under "otherData",
/// and events tell `family`, `ranks` and `channel`, too: config::read_recorded() makes all of it of the file again.
struct NamedTrace {
  std::string name;
  const trace::Recorded* recorded = nullptr;
};
void write_perfetto(const std::vector<NamedTrace>&, std::ostream&);

}  // namespace reports
