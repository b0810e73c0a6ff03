// core/config/launch/same_shape.h -- whether a framework that knows a model by name would train this one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/model.h"

namespace config::launch {

/// Equal but for the name and how far positions are meant to reach.
bool same_shape(spec::Model, const spec::Model&);

}  // namespace config::launch
