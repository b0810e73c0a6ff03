// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/lateness.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/normal.h"

namespace sim {
namespace {

bool is_collective(const Step& step) { return !is_kernel(step) && step.members > 1; }

/// What one segment does to the squares that wait on one stream.
struct OnStream {
  Step* first = nullptr;  // its first collective
  double before = 0;      // squares of the kernels ahead of that one, or of all
  double behind = 0;      // of those behind the last one
  double waits = 0;       // of `first`, summed over the calls
  std::int64_t calls = 0;
};

using Segment = std::array<OnStream, plan::kStreams>;

double wait(double jitter, const Step& step, double squares) {
  return expected_lateness(jitter, step.hops ? 2 : step.members, squares);
}

/// All but the first collective of each stream have their kernels in the segment itself.
Segment within(std::span<Step> steps, double jitter) {
  Segment out;
  double squares = 0;                           // of all kernels by now
  std::array<double, plan::kStreams> latest{};  // the same at the latest collective of each stream
  for (Step& step : steps) {
    if (is_kernel(step)) {
      squares += std::pow(static_cast<double>(step.duration), 2);
    } else if (is_collective(step)) {
      OnStream& stream = out[step.stream];
      if (stream.first == nullptr) {
        stream.first = &step;
        stream.before = squares;
      } else {
        step.wait = std::llround(wait(jitter, step, squares - latest[step.stream]));
      }
      latest[step.stream] = squares;
    }
  }
  for (std::size_t s = 0; s < out.size(); ++s) {
    (out[s].first == nullptr ? out[s].before : out[s].behind) = squares - latest[s];
  }
  return out;
}

/// `steps`: of all segments, one behind the other.
void wait_for_the_latest(const plan::Plan& plan, double jitter, std::span<Step> steps) {
  std::vector<Segment> segments;
  for (const plan::Segment& segment : plan.segments) {
    segments.push_back(within(steps.first(segment.operators.size()), jitter));
    steps = steps.subspan(segment.operators.size());
  }
  for (const plan::Role& role : plan.roles) {
    std::array<double, plan::kStreams> squares{};
    for (const plan::Call& call : role.calls) {
      for (std::size_t s = 0; s < squares.size(); ++s) {
        OnStream& stream = segments[call.segment][s];
        squares[s] += stream.before;
        if (stream.first == nullptr) continue;
        stream.waits += wait(jitter, *stream.first, squares[s]);
        ++stream.calls;
        squares[s] = stream.behind;
      }
    }
  }
  for (Segment& segment : segments) {
    for (OnStream& stream : segment) {
      if (stream.calls > 0) stream.first->wait = std::llround(stream.waits / static_cast<double>(stream.calls));
    }
  }
}

}  // namespace

double expected_lateness(double jitter, int ranks, double squares) {
  return jitter * base::expected_maximum(ranks) * std::sqrt(squares);
}

void wait_for_the_latest(EngineInput& in) {
  if (in.kernel_jitter <= 0) return;
  std::size_t variant = 0;  // steps of one
  for (const plan::Segment& segment : in.plan->segments) variant += segment.operators.size();
  for (std::size_t first = 0; first < in.steps.size(); first += variant) {
    wait_for_the_latest(*in.plan, in.kernel_jitter, std::span(in.steps).subspan(first, variant));
  }
}

}  // namespace sim
