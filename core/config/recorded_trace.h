// core/config/recorded_trace.h -- the timeline that forerun measure --trace and forerun import write
// (reports/perfetto.h), read back. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "core/trace/recorded.h"

namespace config {

struct RecordedFile {
  trace::Recorded measured;
  std::optional<trace::Recorded> predicted;  // as it was when the step was recorded
};

/// Both with every picosecond. Spans have ready, start, end, name, microbatch, chunk, layer, phase, channel and work,
/// this one counted anew; memory is left out. Throws base::InputError with the file and what of it is wrong.
RecordedFile read_recorded(const std::string& path);  // packed or not
RecordedFile read_recorded(std::istream&, const std::string& name);

}  // namespace config
