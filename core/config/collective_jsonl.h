// core/config/collective_jsonl.h -- a row of a table of measured collectives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/config/measured_kernels.h"
#include "core/config/text_lines.h"

namespace config {

/// Appends a row {op, size_bytes, ranks, nodes, gpus_per_node, gpu, intra, inter, time_us or busbw_gbps, source, ...}
/// to `tables`, or counts it as left out: an operation that no price has, a rate told only as a share of a nominal one.
/// A peak told without its size is read as one of 8 GiB. Throws base::InputError at the last line: a key that is not
/// known, a field that is missing or cannot be read.
void read_collective(const TextLines&, const nlohmann::json& row, KernelTables& tables);

}  // namespace config
