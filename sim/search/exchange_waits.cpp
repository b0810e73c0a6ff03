// SPDX-License-Identifier: Apache-2.0
#include "sim/search/exchange_waits.h"

#include <cstddef>

#include "sim/engine/lateness.h"

namespace sim {
namespace {

PassTime& time_of(ChunkTimes& chunk, plan::Pass pass) {
  if (pass == plan::Pass::forward) return chunk.forward;
  return pass == plan::Pass::weight_gradient ? chunk.weights : chunk.backward;
}

}  // namespace

double wait_for_the_latest(const PipelineShape& shape, int stage, std::vector<ChunkTimes>& chunks, double jitter,
                           int ranks) {
  double squares = 0;  // of kernels since the latest exchange
  const auto wait = [&](Exchange& exchange) {
    exchange.time += expected_lateness(jitter, ranks, squares);
    squares = 0;
  };
  const auto at = static_cast<std::size_t>(stage);
  for (std::int32_t number = shape.first_of[at]; number < shape.first_of[at + 1]; ++number) {
    const ShapePass& pass = shape.passes[static_cast<std::size_t>(number)];
    ChunkTimes& chunk = chunks[static_cast<std::size_t>(pass.chunk)];
    const double whole = time_of(chunk, pass.pass).squares;
    double share = 0;  // of the pass whose kernels are counted
    const auto count_to = [&](double end) {
      squares += (end - share) * whole;
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

}  // namespace sim
