// core/config/model_reader.h -- a Model map (catalogue entry or inline) as a spec::Model, left-out fields filled with
// their stated defaults. Keys and defaults: docs/models.md. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/config/document.h"
#include "core/config/map_reader.h"
#include "core/spec/model.h"
#include "core/spec/ranges.h"

namespace config {

/// Reads a model whose `base:` has been followed. `path` is the map's own ("model" inside a Job, empty for a catalogue
/// file). A `kind: layers` model is its list of operators.
spec::Model read_model(const Value& map, const std::string& path, Faults&);

/// The keys that a format writes a shape with, for messages.
struct ShapeKeys {
  std::string_view layers = "layers", heads = "heads", kv_heads = "kv_heads", head_dim = "head_dim";
};

/// head_dim when the file leaves it out: hidden / heads, or its two parts with latent attention. Notes a fault when
/// heads do not divide hidden. REQUIRES: hidden and heads could be read.
void default_head_dim(spec::Model&, MapReader&, const ShapeKeys& = {});

/// A token visits at most all experts. `map` holds `top_k_key`.
void check_experts(const spec::Moe&, MapReader& map, std::string_view top_k_key);
/// Adds a fault where its groups of experts cannot be.
void check_groups(const spec::Moe&, MapReader& map, std::string_view groups_key, std::string_view top_groups_key);

/// Rules of a shape alone, which every format shares: kv_heads divide heads, not more than spec::kMostParameters.
/// REQUIRES: all fields could be read.
void check_shape(const spec::Model&, MapReader&, const ShapeKeys& = {});

}  // namespace config
