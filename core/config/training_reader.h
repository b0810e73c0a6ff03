// core/config/training_reader.h -- the `training:` section of a Job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/map_reader.h"
#include "core/spec/training.h"

namespace config {

/// `has_tokens`: of a model that reads sequences, which then must say how long they are.
spec::Training read_training(const Value&, bool has_tokens, Faults&);

}  // namespace config
