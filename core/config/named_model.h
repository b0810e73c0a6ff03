// core/config/named_model.h -- what a model written out by its shape leaves out, and its name tells.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/catalogue.h"

namespace config {

/// A Job's model: a name, a path or a map. Tables of papers give layers and widths; that Qwen3 norms its queries and
/// gpt-oss has sinks, its name says. A model whose name is that of one in the catalogue but for capitals and signs
/// ("Qwen3-30B-A3B"), and whose widths and experts are that one's, takes over the details that it does not state, each
/// told in `assumptions`. Vocabulary, depth of prediction (mtp) and the number of layers are a run's choice and stay.
spec::Model read_named_model(const Value& at, const Catalogue&, Faults&, std::vector<std::string>& assumptions);

/// Whether some layer has a feed-forward of Model::ffn, and not experts instead.
bool has_dense_layers(const spec::Model&);

}  // namespace config
