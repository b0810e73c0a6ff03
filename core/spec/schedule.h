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
  bool has_barrier = true;       // stages end a step together, where the Job does not say
  bool sends_beside = false;     // stages exchange activations beside what they compute, always
  bool serves = true;            // prefill and decode make sense under it
  bool searched = false;         // by `search`, where the Job leaves the schedule to it

  bool two_copies() const { return shape == ChunkShape::two_way; }
};

constexpr ScheduleTraits traits_of(Schedule schedule) {
  constexpr ScheduleTraits kZeroBubble{
      .splits_backward = true, .has_barrier = false, .sends_beside = true, .serves = false};
  ScheduleTraits out;
  switch (schedule) {
    case Schedule::gpipe: out.forwards_first = true; break;
    case Schedule::interleaved: out.takes_vpp = true; [[fallthrough]];
    case Schedule::one_f_one_b:
      out.one_f_one_b = true;
      out.searched = true;
      break;
    case Schedule::zb_h1:
      out = kZeroBubble;
      out.searched = true;
      break;
    case Schedule::zb_h2: out = kZeroBubble; break;
    case Schedule::zb_v:
      out = kZeroBubble;
      out.shape = ChunkShape::v;
      out.searched = true;
      break;
    case Schedule::dualpipe:
      out = {.shape = ChunkShape::two_way, .always_pairs = true, .sends_beside = true, .serves = false};
      break;
    case Schedule::pipedream:
      out = {.flushes = false, .has_barrier = false, .sends_beside = true, .serves = false};
      break;
  }
  return out;
}

}  // namespace spec
