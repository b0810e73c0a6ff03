// sim/limits/sizes.h -- the sizes of a job that memory limits, and which of their values are sound.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/job.h"
#include "sim/limits/largest.h"

namespace sim {

using Settings = std::vector<std::pair<std::string, std::string>>;  // a Job's path and value

/// One size, grown with all others as they are. Every value of the row is sound where the job itself is.
struct Size {
  std::string name, unit;
  std::int64_t given = 0;
  Row row;
  std::function<Settings(std::int64_t)> settings;
  std::string refusal;  // why it cannot be varied; the rest is then empty
};

/// sequence (of a decode job with one, context), micro_batch, layers, width.
/// Sequences are multiples of 256 that context and tensor parallel ranks can share. A microbatch keeps the number of
/// microbatches, so the global batch grows with it. Layers grow by one for each chunk of the pipeline. The width grows
/// by key/value heads that tensor parallel ranks can share, queries, hidden size and feed-forward in proportion.
std::vector<Size> sizes_of(const spec::Job&);

}  // namespace sim
