// core/config/layer_list_reader.h -- the `operators` of a `kind: layers` model. Keys: docs/models.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/map_reader.h"
#include "core/spec/layer_list.h"

namespace config {

/// `list` is the value of `operators`, `path` its own path. Notes a fault where an operator's input is not what the
/// operator that it reads puts out.
std::vector<spec::Layer> read_layer_list(const Value& list, const std::string& path, Faults&);

}  // namespace config
