// core/plan/offload.h -- states and parameters that live on the host or its drives: what is copied when, and the update
// that the host computes.
//
// Gradients follow their reduction to the host; the update reads and writes them and the states at a share of the
// host's bandwidth (Framework::cpu_optimizer), in tiles whose new weights travel back while the next one is updated, or
// all at once; shards of parameters come in front of their gather. A rank has its GPU's PCIe for itself and an even
// share of its node's memory and drives. Leaves out: the norm that a framework with tiles takes on the GPU as gradients
// leave; casts of what is copied; that reads from drives pass through the host's memory. Sources: Ren et al.,
// "ZeRO-Offload", arXiv 2101.06840; Rajbhandari et al., "ZeRO-Infinity", arXiv 2104.07857; PyTorch
// torch/distributed/fsdp/_fully_shard (CPUOffloadPolicy); DeepSpeed runtime/zero/stage3.py.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/plan.h"
#include "core/plan/shares.h"

namespace plan {

/// Bytes/s that one rank gets while all ranks of its node ask for them.
struct HostRates {
  std::int64_t memory = 1;           // of the host, for what moves its bytes once
  std::int64_t copy = 1;             // each direction of its PCIe link, or its share of the host's memory
  std::int64_t update = 1;           // of the bytes that an optimizer on the host moves
  std::int64_t read = 1, write = 1;  // NVMe
};
HostRates host_rates(const Context&);

/// Copies the rank's shard of `held` to the device, from NVMe first where it lies there. `behind_compute`: not before
/// the compute issued until now; `room`: event after which the host has room to read (-1: at once).
void bring_shard(const Context&, SegmentBuilder&, const Held& held, bool behind_compute, EventId room);
/// Bytes that this copy takes besides the gathered unit; without a gather it is the unit.
std::int64_t staged_bytes(const Context&, const Held& held);

/// Gradients of `parameters` parameters, reduced on Stream::dp, go to the host. Where SegmentBuilder::adds_gradients
/// says that a sum lies there, they join it: on the device, or on the host where it works without tiles.
void gradients_to_host(const Context&, SegmentBuilder&, std::int64_t parameters);

/// Clipping and the update of `owned` parameters on the host; new weights come back to where they are kept.
void update_on_host(const Context&, SegmentBuilder&, std::int64_t owned);
/// An update on the GPU of parameters that are kept on the host.
void updated_to_host(const Context&, SegmentBuilder&, std::int64_t owned);

/// The next compute operator waits until all weights are where the next step looks for them.
void await_updates(const Context&, SegmentBuilder&);

/// Fills Role::host_bytes and nvme_bytes for `held` parameters: pinned copies, buffers of what is on drives.
void hold_on_host(const Context&, const Held& held, Role& role);

}  // namespace plan
