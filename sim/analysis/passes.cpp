// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/passes.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "sim/memory/ledger.h"

namespace sim {
namespace {

using plan::Call;
using plan::Phase;
using result::PassKind;
using result::SchedulePass;
using trace::Span;

PassKind kind_of(const Call& call, Phase phase) {
  if (call.microbatch < 0 || phase == Phase::optimizer) return PassKind::ends;
  if (of_vocabulary(call.pass)) return PassKind::vocabulary;
  if (call.pass == plan::Pass::weight_gradient) return PassKind::weight_gradient;
  return call.pass == plan::Pass::forward ? PassKind::forward : PassKind::backward;
}

/// The spans of one half of a call, in the order of the stream.
template <class Wanted>
void add_pass(const std::span<const Span>& spans, PassKind kind, int microbatch, int chunk, Wanted wanted,
              std::vector<SchedulePass>& out) {
  const auto first = std::find_if(spans.begin(), spans.end(), wanted);
  if (first == spans.end()) return;
  const auto last = std::find_if(spans.rbegin(), spans.rend(), wanted);
  out.push_back({kind, microbatch, chunk, trace::seconds(first->start), trace::seconds(last->end)});
}

void add_call(const Call& call, const std::span<const Span>& spans, std::vector<SchedulePass>& out) {
  if (spans.empty()) return;
  const auto forward = [](const Span& span) { return static_cast<Phase>(span.phase) == Phase::forward; };
  if (call.pass == plan::Pass::overlapped) {
    add_pass(spans, PassKind::forward, call.microbatch, call.chunk, forward, out);
    add_pass(spans, PassKind::backward, call.other, call.other_chunk, std::not_fn(forward), out);
    return;
  }
  const PassKind kind = kind_of(call, static_cast<Phase>(spans.front().phase));
  add_pass(
      spans, kind, call.microbatch, call.chunk, [](const Span&) { return true; }, out);
}

std::size_t kernels_of(const plan::Segment& segment) {
  return static_cast<std::size_t>(
      std::count_if(segment.operators.begin(), segment.operators.end(),
                    [](const plan::Operator& op) { return op.stream == plan::Stream::compute; }));
}

}  // namespace

std::vector<result::StageSchedule> passes(const plan::Plan& plan, const trace::Trace& trace) {
  std::vector<std::size_t> kernels;
  for (const plan::Segment& segment : plan.segments) kernels.push_back(kernels_of(segment));
  std::vector<result::StageSchedule> out;
  for (const plan::Role& role : plan.roles) {
    result::StageSchedule& stage = out.emplace_back();
    stage.stage = role.stage;
    std::span<const Span> rest = trace.tracks[tracks_of(trace, role)].spans;  // its compute stream's
    for (const Call& call : role.calls) {
      add_call(call, rest.first(kernels[call.segment]), stage.passes);
      rest = rest.subspan(kernels[call.segment]);
    }
    std::stable_sort(stage.passes.begin(), stage.passes.end(),
                     [](const SchedulePass& a, const SchedulePass& b) { return a.start_s < b.start_s; });
  }
  return out;
}

}  // namespace sim
