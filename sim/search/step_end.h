// sim/search/step_end.h -- the end of a step behind its last passes: reductions that nothing hid, tied embeddings, the
// gradient norm of all stages, the optimizer. The plan's own operators, run without what they would share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "sim/engine/engine.h"
#include "sim/pricing/prices.h"
#include "sim/search/pipeline_walk.h"

namespace sim {

/// One stage's operators before its first and behind its last pass.
struct StageEnds {
  std::vector<Step> steps;                 // of the end; the first exchanges as if no kernel came before it
  std::vector<plan::Channel::Kind> meets;  // of each: model, embedding; group: no other stage
  double begin = 0;                        // seconds: gradients zeroed
  double jitter = 0;                       // of kernels: EngineInput::kernel_jitter
  double least = 0;                        // of compute at the end, one kernel behind the other
  std::int64_t workspace = 0;              // bytes over what is held, at the fullest moment
};

StageEnds stage_ends(const plan::Context&, const std::vector<plan::Chunk>& chunks, int stage, PriceList&);

/// When the last operator of all stages ends.
double end_of_step(const std::vector<const StageEnds*>&, const std::vector<StageEnd>&);
/// The same of each stage where none waits for the others.
std::vector<double> ends_apart(const std::vector<const StageEnds*>&, const std::vector<StageEnd>&);

}  // namespace sim
