// core/plan/upkeep.h -- which passes of a chunk bring parameters and reduce gradients: each of them, or the first and
// the last of a step alone. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/context.h"

namespace plan {

struct Upkeep {
  explicit Upkeep(const Context&);

  bool gathers_buckets;  // of zero 1, before the first forward
  bool reduces_buckets;  // of zero 0 and 1, behind the last backward
  bool keeps;            // units of zero 3 stay from the first forward to the last backward
  bool casts;            // weights to narrow formats, in the first forward
  bool each_gathers, first_gathers;
  bool each_reduces, last_reduces;
  bool each_sums;      // shards of gradients over their replicas, not the last backward alone
  bool sums_on_host;   // gradients of all backwards but a chunk's first join those that are there
  bool first_differs;  // the first forward from those behind it

  bool gathers(bool first) const { return each_gathers || (first && first_gathers); }  // of a forward
  bool reduces(bool last) const { return each_reduces || (last && last_reduces); }     // of a backward
};

}  // namespace plan
