// SPDX-License-Identifier: Apache-2.0
#include "sim/search/rehearsal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>

#include "sim/engine/chains.h"
#include "sim/engine/lateness.h"
#include "sim/pricing/flatten.h"

namespace sim {
namespace {

/// What begins or ends to be held.
struct Change {
  trace::Ticks at;
  std::uint8_t resources;
  int count;
};

std::vector<Change> changes_of(const EngineInput& in, const EngineOutput& ran) {
  std::vector<Change> out;
  for (std::size_t stream = 0; stream < ran.spans.size(); ++stream) {
    const auto of = static_cast<plan::Stream>(stream);
    if (of == plan::Stream::dp || of == plan::Stream::send_next) continue;
    for (const trace::Span& span : ran.spans[stream]) {
      const std::uint8_t resources = in.steps[static_cast<std::size_t>(span.work)].resources;
      if (resources == 0 || span.end == span.start) continue;
      out.push_back({span.start, resources, 1});
      out.push_back({span.end, resources, -1});
    }
  }
  std::sort(out.begin(), out.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  return out;
}

std::vector<std::vector<Stretch>> stretches_of(const EngineInput& in, const EngineOutput& ran, const Rehearsal& calls) {
  std::vector<std::vector<Stretch>> out(calls.begin.size());
  std::array<int, resource::kCount> holders{};
  const auto held = [&] {
    unsigned set = 0;
    for (int r = 0; r < resource::kCount; ++r) set |= holders[r] > 0 ? 1u << r : 0u;
    return static_cast<std::uint8_t>(set);
  };
  std::size_t call = 0;
  const auto until = [&](double end) {  // from the last change on
    for (; call < out.size(); ++call) {
      const double next = calls.done[call];
      const double to = std::min(end, next) - (call > 0 ? calls.done[call - 1] : calls.begin[0]);
      const double from = out[call].empty() ? 0 : out[call].back().end;
      if (to > from && !out[call].empty() && out[call].back().held == held()) {
        out[call].back().end = to;
      } else if (to > from) {
        out[call].push_back({to, held()});
      }
      if (end < next) return;
    }
  };
  for (const Change& change : changes_of(in, ran)) {
    until(trace::seconds(change.at));
    for (int r = 0; r < resource::kCount; ++r) holders[r] += (change.resources >> r & 1) * change.count;
  }
  until(calls.end);
  return out;
}

std::vector<Course> courses_of(const EngineInput& in, const EngineOutput& ran, const Rehearsal& calls) {
  std::vector<Course> out(calls.begin.size());
  std::vector<std::vector<Stretch>> stretches = stretches_of(in, ran, calls);
  for (std::size_t call = 0; call < out.size(); ++call) out[call].stretches = std::move(stretches[call]);
  for (const trace::Span& span : ran.spans[static_cast<std::size_t>(plan::Stream::compute)]) {
    const auto call = static_cast<std::size_t>(span.microbatch);
    out[call].kernels.push_back(trace::seconds(span.end) - (call > 0 ? calls.done[call - 1] : calls.begin[0]));
  }
  return out;
}

/// Of each segment, what `of_step` gives for its steps in all. REQUIRES: not chained.
template <class OfStep>
std::vector<double> sums_of(const EngineInput& in, OfStep of_step) {
  std::vector<double> out;
  for (std::size_t segment = 0; segment + 1 < in.segment_begin.size(); ++segment) {
    double sum = 0;
    for (std::int32_t at = in.segment_begin[segment]; at < in.segment_begin[segment + 1]; ++at) {
      sum += of_step(in.steps[static_cast<std::size_t>(at)]);
    }
    out.push_back(sum);
  }
  return out;
}

}  // namespace

Rehearsal rehearse(plan::Plan plan, int stage, const std::vector<std::int32_t>& segments, const spec::Job& job,
                   PriceList& prices, RehearsalOptions options) {
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
  const std::vector<double> squares =
      sums_of(in, [](const Step& step) { return is_kernel(step) ? std::pow(trace::seconds(step.duration), 2) : 0.0; });
  const std::vector<double> issue = sums_of(in, [](const Step& step) { return trace::seconds(step.host); });
  if (options.at_once) {
    for (Step& step : in.steps) step.host = 0;
  }
  chain(in);
  const EngineOutput ran = run(in);

  Rehearsal out;
  for (const std::int32_t segment : segments) {
    out.squares.push_back(squares[static_cast<std::size_t>(segment)]);
    out.issue.push_back(issue[static_cast<std::size_t>(segment)]);
  }
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
  for (const trace::Span& span : ran.spans[static_cast<std::size_t>(plan::Stream::tp)]) {
    double& done = out.done[static_cast<std::size_t>(span.microbatch)];
    done = std::max(done, trace::seconds(span.end));
  }
  for (std::size_t call = 1; call < segments.size(); ++call)
    out.done[call] = std::max(out.done[call], out.done[call - 1]);
  double next = out.end;  // calls without a kernel take no time
  for (auto begin = out.begin.rbegin(); begin != out.begin.rend(); ++begin) next = *begin = *begin < 0 ? next : *begin;
  if (options.courses) out.courses = courses_of(in, ran, out);
  return out;
}

}  // namespace sim
