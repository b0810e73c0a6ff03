// SPDX-License-Identifier: Apache-2.0
#include "core/plan/upkeep.h"

#include "core/plan/low_precision.h"
#include "core/plan/units.h"

namespace plan {

Upkeep::Upkeep(const Context& c)
    : gathers_buckets(c.strategy.zero >= 1 && !c.fully_sharded && c.overlap_param_gather && c.replicated()),
      reduces_buckets(c.overlap_grad_reduce && !c.scatters_gradients &&
                      (c.replicated() || c.strategy.offload.updates_on_host())),
      keeps(c.fully_sharded && keeps_over_step(c)),
      casts(spec::bytes_of(c.dtype) < 2 && keeps_casts(c)),
      each_gathers(c.fully_sharded && !keeps),
      first_gathers(gathers_buckets || keeps),
      each_reduces(c.scatters_gradients && c.strategy.fsdp.sync_each_microbatch),
      last_reduces(reduces_buckets || keeps || (c.scatters_gradients && !each_reduces)),
      each_sums(each_reduces && !c.sums_replicas_last),
      sums_on_host(each_reduces && c.strategy.offload.updates_on_host()),
      first_differs(first_gathers || casts || c.spread_vocab) {}

}  // namespace plan
