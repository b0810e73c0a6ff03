// core/plan/stage_edges.h -- what a pipeline stage exchanges with the stages around its chunks: activations forward,
// their gradients back. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/builder.h"
#include "core/plan/context.h"

namespace plan {

class StageEdges {
 public:
  StageEdges(const Context& c, int stage) : c_(c), stage_(stage) {}

  /// In front of a pass of `chunk`. `ahead`: for the call behind this one, whose compute joins it; what this call needs
  /// came before the step.
  void receive(SegmentBuilder&, int chunk, bool backward, bool ahead = false) const;
  /// Behind it.
  void send(SegmentBuilder&, int chunk, bool backward) const;
  /// A blocking exchange: what was sent has arrived before anything else is computed. With several chunks a stage the
  /// receiver takes what comes round the ring before it needs it, so there only receiving blocks.
  void finish_sends(SegmentBuilder&) const;

 private:
  const Context& c_;
  int stage_;
};

}  // namespace plan
