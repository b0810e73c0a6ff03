// core/spec/storage.h -- what a training step reads from and writes to files: its samples and its checkpoints.
// Bandwidths are of one node. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/units.h"

namespace spec {

/// Samples come from storage; one rank of each tensor- and context-parallel group of the first stage reads.
struct InputData {
  std::optional<base::Bytes> bytes_per_token, bytes_per_sample;  // one of the two
  base::ByteRate bandwidth;                                      // into one node
  bool prefetch = true;  // read while the step before runs; otherwise the step waits for its own samples
};

/// Weights and optimizer states, each written once: ranks with equal parameters share the writing.
struct Checkpoint {
  std::int64_t every = 1;                   // steps
  bool shared = false;                      // to a file system of the cluster; otherwise the node's own NVMe
  std::optional<base::ByteRate> bandwidth;  // out of one node; default: what the node's NVMe writes
  bool async = false;                       // written beside the steps that follow; otherwise training stands still
};

}  // namespace spec
