// core/spec/schedule.h -- the pipeline schedules, and all that the rest of the house has to know of each: a row of
// traits_of(). In which order a stage runs its passes is core/plan/schedule. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/names.h"

namespace spec {

enum class Schedule { gpipe, one_f_one_b, interleaved, zb_h1, zb_h2, zb_v, dualpipe, pipedream };
template <>
inline constexpr auto kNamesOf<Schedule> = spelt("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe",
                                                 "pipedream");

/// How chunks of the model lie on the stages: round them; down and up again; in two copies, one down and one up.
enum class ChunkShape { ring, v, two_way };

struct ScheduleTraits {
  ChunkShape shape = ChunkShape::ring;
  bool takes_vpp = false;    // the Job chooses the chunks a stage; otherwise one, or two where the shape needs them
  bool one_f_one_b = false;  // forwards and backwards in turn: passes may be paired, the vocabulary spread over stages
  bool forwards_first = false;   // every forward of a step before any backward
  bool splits_backward = false;  // weight gradients are passes of their own, apart from the gradients of inputs
  bool always_pairs = false;     // a forward always runs beside the backward of another microbatch
  bool flushes = true;           // all microbatches of a step have gone backward when its optimizer begins
  bool searched = false;         // by `search`, where the Job leaves the schedule to it

  bool two_copies() const { return shape == ChunkShape::two_way; }
  /// Whatever the Job's vpp says.
  bool two_chunks() const { return shape != ChunkShape::ring; }
  /// An order that only backwards make: none for prefill and decode. Its stages always exchange activations beside what
  /// they compute.
  bool training_only() const { return splits_backward || always_pairs || !flushes; }
  /// Stages end a step together, where the Job does not say.
  bool has_barrier() const { return flushes && !splits_backward; }
};

constexpr ScheduleTraits traits_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::gpipe: return {.forwards_first = true};
    case Schedule::one_f_one_b: return {.one_f_one_b = true, .searched = true};
    case Schedule::interleaved: return {.takes_vpp = true, .one_f_one_b = true, .searched = true};
    case Schedule::zb_h1: return {.splits_backward = true, .searched = true};
    case Schedule::zb_h2: return {.splits_backward = true};
    case Schedule::zb_v: return {.shape = ChunkShape::v, .splits_backward = true, .searched = true};
    case Schedule::dualpipe: return {.shape = ChunkShape::two_way, .always_pairs = true};
    case Schedule::pipedream: return {.flushes = false};
  }
  return {};
}

}  // namespace spec
