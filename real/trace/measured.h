// real/trace/measured.h -- joined records as a Trace, the same that the simulator tells.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/trace/trace.h"
#include "real/trace/join.h"

namespace real {

/// One execution of an operator, as the executor launched it.
struct Launched {
  OperatorInstance instance = 0;
  std::size_t track = 0;  // of the trace
  trace::Span what;       // name, microbatch, layer, chunk, phase, work, channel; its times are filled in
};

/// `frame` has the names, phases, channels and tracks, without spans. Time starts with the first record. A span reaches
/// from its operator's first record to its last; one that began before its predecessor on the stream had ended
/// (programmatic launches do) is cut to begin there, for spans of a track do not overlap. When an operator was ready
/// the device does not tell: ready is start. Throws base::DeviceError, which makes the run void, when records were
/// dropped, when a record has no owner, and when an operator that was launched left no record; it names them.
trace::Trace measured(const Records&, const std::vector<Launched>&, trace::Trace frame);

}  // namespace real
