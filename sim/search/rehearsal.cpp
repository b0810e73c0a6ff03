// SPDX-License-Identifier: Apache-2.0
#include "sim/search/rehearsal.h"

#include <algorithm>
#include <variant>

#include "sim/engine/chains.h"
#include "sim/engine/flatten.h"

namespace sim {

Rehearsal rehearse(plan::Plan plan, int stage, const std::vector<std::int32_t>& segments, const spec::Job& job,
                   PriceList& prices) {
  for (plan::Segment& segment : plan.segments) {
    std::erase_if(segment.operators, [&](const plan::Operator& op) {
      return op.channel >= 0 && std::holds_alternative<plan::Transfer>(plan.works[op.work]);
    });
    segment.memory.clear();  // its operators' numbers no longer hold
  }
  plan::Role& role = plan.roles.emplace_back();
  role.stage = stage;
  for (const std::int32_t segment : segments) role.calls.push_back({segment, 0, 0});
  std::vector<base::Seconds> priced;
  priced.reserve(plan.works.size());
  for (const plan::Work& work : plan.works) priced.push_back(prices.of(work));
  EngineInput in = flatten(plan, priced, job);
  chain(in);
  const EngineOutput ran = run(in);

  Rehearsal out;
  out.end = trace::seconds(ran.end);
  out.begin.assign(segments.size(), -1);
  out.done.assign(segments.size(), 0);
  const auto time_on = [&](plan::Stream stream) {
    std::vector<double> time(segments.size());
    for (const trace::Span& span : ran.spans[static_cast<std::size_t>(stream)]) {
      time[static_cast<std::size_t>(span.microbatch)] += trace::seconds(span.end - span.start);
    }
    return time;
  };
  out.kernels = time_on(plan::Stream::compute);
  out.tp = time_on(plan::Stream::tp);
  out.cp = time_on(plan::Stream::cp);
  out.ep = time_on(plan::Stream::ep);
  out.dp = time_on(plan::Stream::dp);
  out.sends = time_on(plan::Stream::send_next);
  for (const trace::Span& span : ran.spans[static_cast<std::size_t>(plan::Stream::compute)]) {
    double& begin = out.begin[static_cast<std::size_t>(span.microbatch)];
    if (begin < 0) begin = trace::seconds(span.start);
    out.done[static_cast<std::size_t>(span.microbatch)] = trace::seconds(span.end);
  }
  double next = out.end;  // calls without a kernel take no time
  for (auto begin = out.begin.rbegin(); begin != out.begin.rend(); ++begin) next = *begin = *begin < 0 ? next : *begin;
  return out;
}

}  // namespace sim
