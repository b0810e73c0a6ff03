// real/trace/trace_file.h -- a Trace as JSON, from a rank to another and from the worker to forerun.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/trace/trace.h"

namespace real {

std::string write_trace(const trace::Trace&);
/// Throws base::DeviceError when the text is no such Trace.
trace::Trace read_trace(const std::string& text);

}  // namespace real
