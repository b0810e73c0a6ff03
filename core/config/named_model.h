// core/config/named_model.h -- what a model written out by its shape leaves out, and its name tells.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/catalogue.h"

namespace config {

/// Tables of papers give layers and widths; that Qwen3 norms its queries and gpt-oss has sinks, its name says. A model
/// whose name is that of one in the catalogue but for capitals and signs ("Qwen3-30B-A3B"), and whose layers, widths
/// and experts are that one's, takes over the details that `written` does not state, each told in `assumptions`.
/// `written`: the Job's value; one that is a name, or has a `base`, is whole. Depth of prediction (mtp), vocabulary and
/// ties are a run's choice and stay.
void complete_as_named(spec::Model& model, const Value& written, const Catalogue&,
                       std::vector<std::string>& assumptions);

}  // namespace config
