// reports/html/timeline.h -- every operator of the step on its stream, in columns that page/timeline.js draws.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace reports::html {

struct TitledTrace {
  std::string name;  // "predicted"
  const trace::Trace* trace = nullptr;
};

/// Whether several traces share one scale of time, or each is drawn at its own length: shapes are then compared, not
/// times. A reader may choose the other.
enum class TimeScale : std::uint8_t { one, own };

/// More are not put into a page: those of whole roles are left out, the first and the last told longest, and the page
/// says so. About 18 bytes each.
inline constexpr std::size_t kMostSpans = 400'000;

/// Times are whole nanoseconds: {"length", "lengths": [of each trace], "own_scale", "traces": [name], "roles_left_out",
/// "operators": {"name": [...], "phase", "layer", "chunk", "bytes"}, "tracks": [{"trace", "rank", "stage", "stream",
/// "gap", "duration", "operator", "microbatch", "waited"}]}. A span begins `gap` after the end of the one before; -1:
/// none, or not known. `bytes_of_work`: by Span::work. Several traces all begin with their first operator.
std::string timeline_json(const std::vector<TitledTrace>&, const std::vector<std::int64_t>& bytes_of_work,
                          std::size_t most_spans = kMostSpans, TimeScale scale = TimeScale::one);

/// Nothing where no trace has a span.
std::string timeline_section(const std::vector<TitledTrace>&, const std::vector<std::int64_t>& bytes_of_work,
                             TimeScale scale = TimeScale::one);

}  // namespace reports::html
