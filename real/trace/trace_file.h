// real/trace/trace_file.h -- a Trace as JSON, from a rank to another, and a recorded step as the file of
// `forerun-worker run --trace`, which forerun reads. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/trace/recorded.h"

namespace real {

std::string write_trace(const trace::Trace&);
/// Throws base::DeviceError when the text is no such Trace.
trace::Trace read_trace(const std::string& text);

/// By which a file of write_recorded() is told from others.
inline constexpr std::string_view kRecordedBegins = R"({"forerun_recorded_step":1,)";

std::string write_recorded(const trace::Recorded&);
/// Throws base::InputError with the name of the file: no such text, numbers that lead out of its lists, spans that
/// overlap.
trace::Recorded read_recorded(const std::string& text, const std::string& file);

}  // namespace real
