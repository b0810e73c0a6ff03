// sim/search/pipeline_shape.h -- what of a pipeline schedule depends on nothing but stages, chunks and microbatches:
// which pass waits for which, and how much each stage holds at its fullest moments. Worked out once, used by every
// strategy that has the same. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/plan/schedule/schedule.h"
#include "core/spec/strategy.h"

namespace sim {

struct ShapeKey {
  spec::Schedule schedule = spec::Schedule::one_f_one_b;
  int stages = 1, chunks = 1, microbatches = 1;
  auto operator<=>(const ShapeKey&) const = default;
};

/// One pass of one microbatch through one chunk. Numbers of passes run stage by stage, in issue order.
struct ShapePass {
  std::int16_t stage = 0, chunk = 0;
  plan::Pass pass = plan::Pass::forward;
  bool first = false;       // forward of its chunk in the step
  bool last = false;        // pass that completes its chunk's gradients
  bool crosses = false;     // its input comes from another stage
  bool downward = false;    // from a stage of a lower number
  std::int32_t input = -1;  // pass whose result it waits for; -1: none
  std::int32_t next = -1;   // pass that waits for its result; -1: none
};

/// A moment at which a stage may be at its fullest: before a pass, with so many forwards of each chunk whose backward
/// is to come, and so many input gradients whose weight gradients are.
struct Fullness {
  plan::Pass pass = plan::Pass::forward;
  std::int16_t chunk = 0;
  std::vector<std::int32_t> forwards, gradients;  // by chunk
};

struct PipelineShape {
  std::vector<ShapePass> passes;
  std::vector<std::int32_t> first_of;          // stage: its first pass, and the end
  std::vector<std::vector<Fullness>> fullest;  // by stage; none is below another in all counts
  std::vector<bool> like_before;               // by stage: each of its moments is below one of the stage before
};

/// REQUIRES: a schedule of passes one at a time, of one copy of the model (no dualpipe).
PipelineShape pipeline_shape(const ShapeKey&);

/// Keeps the shapes it has made. Any number of threads may ask.
class ShapeBook {
 public:
  std::shared_ptr<const PipelineShape> of(const ShapeKey&);

 private:
  std::mutex guard_;
  std::map<ShapeKey, std::shared_ptr<const PipelineShape>> known_;
  std::size_t passes_ = 0;  // in all shapes kept
};

}  // namespace sim
