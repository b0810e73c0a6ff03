// core/result/schedule.h -- which pass each pipeline stage ran when: what `forerun show schedule` draws.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace result {

/// `backward` is whole, or the gradient of the input alone where a schedule has `weight_gradient` apart; what is
/// recomputed for it counts with it. `vocabulary`: a stage's share of embedding and head. `ends`: what a step does
/// before its first and behind its last microbatch: zeroed gradients, gradient norm, optimizer.
enum class PassKind : std::uint8_t { forward, backward, weight_gradient, vocabulary, ends };
inline constexpr int kPassKinds = 5;
inline constexpr std::array<std::string_view, kPassKinds> kPassNames{"forward", "backward", "weight_gradient",
                                                                     "vocabulary", "ends"};

/// One microbatch through one chunk, from its first kernel to the end of its last: a wait for communication in between
/// is part of it.
struct SchedulePass {
  PassKind kind = PassKind::forward;
  int microbatch = -1;  // -1: of none
  int chunk = -1;       // of the stage; -1: of none
  double start_s = 0, end_s = 0;
};

/// Allocated from that instant on, by the GPU of a stage.
struct MemoryStep {
  double at_s = 0;
  std::int64_t bytes = 0;
};

struct StageSchedule {
  int stage = 0;
  std::vector<SchedulePass> passes;     // by start; only a forward and the backward beside it overlap
  std::vector<MemoryStep> memory = {};  // by time; empty unless asked for
};

struct Schedule {
  std::string job;   // one line: model, GPUs, strategy
  std::string name;  // as a Job has it: "1f1b"
  int chunks = 1;    // of a stage
  double step_time_s = 0;
  double bubble_fraction = 0;
  int bubble_stage = 0;             // the slowest stage, of which the bubble is told
  bool beside = false;              // forwards run beside backwards
  bool two_way = false;             // dualpipe: chunk 0 goes down the stages, chunk 1 up
  bool rolling = false;             // no barrier ends the step: each stage has a clock of its own
  std::int64_t capacity_bytes = 0;  // of a GPU
  std::vector<StageSchedule> stages;
};

}  // namespace result
