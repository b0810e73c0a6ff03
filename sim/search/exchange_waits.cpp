// SPDX-License-Identifier: Apache-2.0
#include "sim/search/exchange_waits.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "sim/engine/lateness.h"
#include "sim/pricing/flatten.h"

namespace sim {
namespace {

PassTime& time_of(ChunkTimes& chunk, plan::Pass pass) {
  if (pass == plan::Pass::forward) return chunk.forward;
  return pass == plan::Pass::weight_gradient ? chunk.weights : chunk.backward;
}

/// Collectives of other axes have waited in the passes.
bool carries_exchanges(std::uint8_t stream) {
  return stream == static_cast<std::uint8_t>(plan::Stream::dp) ||
         stream == static_cast<std::uint8_t>(plan::Stream::replicate);
}

}  // namespace

Squares wait_for_the_latest(const PipelineShape& shape, int stage, std::vector<ChunkTimes>& chunks, double jitter) {
  Squares squares{};
  const auto wait = [&](Exchange& exchange) {
    double& waiting = squares[static_cast<std::size_t>(exchange.stream)];
    exchange.time += expected_lateness(jitter, exchange.ranks, waiting);
    waiting = 0;
  };
  const auto at = static_cast<std::size_t>(stage);
  for (std::int32_t number = shape.first_of[at]; number < shape.first_of[at + 1]; ++number) {
    const ShapePass& pass = shape.passes[static_cast<std::size_t>(number)];
    ChunkTimes& chunk = chunks[static_cast<std::size_t>(pass.chunk)];
    const double whole = time_of(chunk, pass.pass).squares;
    double share = 0;  // of the pass whose kernels are counted
    const auto count_to = [&](double end) {
      for (double& waiting : squares) waiting += (end - share) * whole;
      share = end;
    };
    if (pass.first) {
      for (Exchange& gather : chunk.gathers) {  // ahead of the kernels that need it
        wait(gather);
        count_to(gather.share);
      }
    }
    if (pass.last) {
      for (Exchange& reduction : chunk.reductions) {
        count_to(reduction.share);
        wait(reduction);
      }
    }
    count_to(1);
  }
  return squares;
}

void wait_for_the_latest(StageEnds& ends, Squares squares) {
  std::array<bool, plan::kStreams> waited{};  // the plan's own squares are those of the others (StageEnds)
  for (Step& step : ends.steps) {
    double& waiting = squares[step.stream];
    if (is_kernel(step)) {
      for (double& each : squares) each += std::pow(trace::seconds(step.duration), 2);
    } else if (step.members > 1 && carries_exchanges(step.stream)) {
      if (!std::exchange(waited[step.stream], true)) {
        step.wait = to_ticks(base::Seconds(expected_lateness(ends.jitter, step.members, waiting)));
      }
      waiting = 0;
    }
  }
}

}  // namespace sim
