// core/config/model_writer.h -- a model as the tree of a model file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/document.h"
#include "core/spec/model.h"

namespace config {

/// Every field under its key of a model file. The values' places are empty. A model that is a list of operators has the
/// defaults of what it leaves out.
Value model_tree(const spec::Model&);

}  // namespace config
