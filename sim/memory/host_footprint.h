// sim/memory/host_footprint.h -- what a step's offloaded states and activations need of a node: pinned memory of the
// host and room on its drives. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/plan.h"
#include "core/spec/job.h"

namespace sim {

/// Of the node whose ranks need most, all of its ranks at their fullest together.
struct HostFootprint {
  std::int64_t bytes = 0, nvme_bytes = 0;
  bool fits(const spec::Node&) const;  // drives of unknown capacity are large enough
};

/// Zero where nothing is offloaded.
HostFootprint host_footprint(const plan::Plan&, const spec::Job&);

}  // namespace sim
