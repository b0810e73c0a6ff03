// SPDX-License-Identifier: Apache-2.0
#include "real/trace/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/fault.h"

namespace real {
namespace {

constexpr std::size_t kNamed = 5;  // in a message
constexpr trace::Ticks kTicksPerNanosecond = 1000;

/// "gemm, norm, ... (12 in all)", each name once.
std::string some(const std::vector<std::string>& names) {
  std::vector<std::string> different;
  for (const std::string& name : names) {
    if (std::ranges::find(different, name) == different.end()) different.push_back(name);
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(different.size(), kNamed); ++i) out += (i ? ", " : "") + different[i];
  return names.size() <= kNamed ? out : fmt::format("{}, ... ({} in all)", out, names.size());
}

void refuse_if_incomplete(const Records& records, const Joined& joined) {
  if (records.dropped > 0) {
    throw base::DeviceError(
        fmt::format("the run is void: the GPU's profiler dropped {} records for want of buffers", records.dropped));
  }
  std::vector<std::string> orphans;
  for (const DeviceRecord& record : joined.orphans) orphans.push_back(record.name);
  if (!orphans.empty())
    throw base::DeviceError(
        fmt::format("the run is void: no operator launched {} of {} records of what the GPU ran: {}", orphans.size(),
                    records.device.size(), some(orphans)));
}

}  // namespace

trace::Trace measured(const Records& records, const std::vector<Launched>& launched, trace::Trace frame) {
  const Joined joined = join(records);
  refuse_if_incomplete(records, joined);
  std::unordered_map<OperatorInstance, const OperatorTime*> time_of;
  for (const OperatorTime& time : joined.operators) time_of[time.owner] = &time;

  const std::uint64_t zero = joined.operators.empty() ? 0 : joined.operators.front().start_ns;
  const auto ticks = [&](std::uint64_t ns) { return static_cast<trace::Ticks>(ns - zero) * kTicksPerNanosecond; };
  std::vector<std::string> silent;
  for (const Launched& one : launched) {
    const auto found = time_of.find(one.instance);
    if (found == time_of.end()) {
      silent.push_back(frame.names[static_cast<std::size_t>(one.what.name)]);
      continue;
    }
    trace::Span span = one.what;
    span.start = span.ready = ticks(found->second->start_ns);
    span.end = ticks(found->second->end_ns);
    frame.tracks[one.track].spans.push_back(span);
    frame.length = std::max(frame.length, span.end);
  }
  if (!silent.empty()) throw base::DeviceError("the run is void: nothing ran on the GPU for " + some(silent));
  for (trace::Track& track : frame.tracks) {
    std::ranges::stable_sort(track.spans, {}, &trace::Span::start);
    for (std::size_t i = 1; i < track.spans.size(); ++i) {
      trace::Span& span = track.spans[i];
      span.start = span.ready = std::max(span.start, track.spans[i - 1].end);
      span.end = std::max(span.end, span.start);
    }
  }
  return frame;
}

}  // namespace real
