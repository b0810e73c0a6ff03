// sim/search/pipeline_walk.h -- the upper of a search's two levels: a step's passes, each of a known length, put behind
// what they wait for. Instants in seconds.
//
// A pass starts when the stage's pass before it has ended and its input is there. An input travels as soon as its
// sender is done, beside what both stages compute; in a blocking exchange, when the receiver is done as well, and the
// sender goes on when it has arrived. Collectives of the data-parallel axis follow one another: parameters gathered in
// front of the first forwards, as soon as the host comes to them, gradients reduced behind the last backwards. What
// runs beside something else takes longer, and slows it, for as long as it does (company.h).
// Leaves out: hosts that are slower than their kernels for a while.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sim/search/chunk_cost.h"
#include "sim/search/pipeline_shape.h"

namespace sim {

/// A collective of the data-parallel axis inside a pass: when so much of the pass has run, gradients go; or before more
/// than so much of it runs, parameters have to have come.
struct Exchange {
  double share = 0;  // of the pass
  double time = 0;   // alone
  int ranks = 1;
  plan::Stream stream = plan::Stream::dp;  // dp or replicate
};

/// A pass alone, and how it and what communicates beside it slow one another.
struct PassTime {
  double time = 0;
  double late = 0;                         // what its kernels begin later behind an input that they waited for
  double operators = 0;                    // that the host issues for it
  double squares = 0;                      // of its kernels' times, in seconds^2 (exchange_waits.h)
  std::vector<PassSection> sections = {};  // one behind the other; none: nothing slows it
};

struct ChunkTimes {
  PassTime forward, backward, weights;
  double first_forward = 0;
  std::vector<Exchange> gathers = {}, reductions = {};  // of the first forward and of the last backward
};

struct WalkInput {
  const PipelineShape& shape;
  std::vector<const ChunkTimes*> times;  // [stage * chunks + chunk]
  int chunks = 1;
  double begin = 0;                       // when stages can start
  std::vector<double> zeroing;            // of each stage, alone, in front of its first pass
  std::vector<PassSection> kernels = {};  // what such kernels are in company
  double transfer = 0;                    // of one input, alone
  bool blocking = false;
  bool shared_link = false;     // inputs travel over the links of the data-parallel axis
  bool gathers_follow = false;  // a chunk's first gather waits for the pass before: steps that nothing keeps apart
  bool host_waits = false;      // for an input, before it issues anything of the pass but its first gather
};

struct StageEnd {
  double first = 0;    // begin of its first pass, its parameters there
  double passes = 0;   // end of its last pass
  double reduced = 0;  // end of its last data-parallel collective
  double sent = 0;     // end of its last transfer
};

/// Throws std::logic_error when passes wait for one another for ever.
std::vector<StageEnd> walk(const WalkInput&);

}  // namespace sim
