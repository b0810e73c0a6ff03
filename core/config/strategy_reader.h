// core/config/strategy_reader.h -- the `strategy:` section of a Job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/map_reader.h"
#include "core/spec/strategy.h"

namespace config {

/// Reads every key of docs/job.md but `framework`, which the job reader looks up in the catalogue. What this version
/// does not support is read all the same, so that check() can name it.
spec::Strategy read_strategy(const Value& map, Faults&);

}  // namespace config
