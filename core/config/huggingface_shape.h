// core/config/huggingface_shape.h -- what nearly all config.json files tell, under the several names that their keys
// have: layers, widths, heads, vocabulary. What one architecture alone has is huggingface_readers.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/document.h"
#include "core/config/map_reader.h"
#include "core/spec/model.h"

namespace config {

/// What the transformers library takes for an absent key. 0: it has no figure, so that an absent key is a fault, but
/// for ffn (four times hidden), kv_heads (heads), head_dim (hidden / heads) and positions (not stated).
struct HuggingFaceDefaults {
  std::int64_t vocab = 0, hidden = 0, ffn = 0;
  int layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t positions = 0;
  bool tied = false;
};

/// One config.json while it is read. `value` and `map` are the same tree: only the former tells null from absent.
struct HuggingFaceConfig {
  const Value& value;
  MapReader& map;
  Faults& faults;
  std::vector<std::string>& assumptions;  // figures of the shape that the file lacks and the library has

  bool is_null(std::string_view key) const;                                         // written, as null
  bool flag(std::string_view key, bool absent);                                     // the flag, or `absent`
  std::int64_t whole(std::string_view key, std::int64_t absent, std::int64_t max);  // of 0 or more; null is 0
};

/// Reads layers, hidden, heads, kv_heads, head_dim, ffn, vocab, max_positions, tied_embeddings.
void read_shape(spec::Model&, HuggingFaceConfig&, const HuggingFaceDefaults&);
/// The activation by its name there; in a gated feed-forward silu is swiglu and gelu is geglu. A name that this tool
/// does not know is a fault.
void read_activation(spec::Model&, HuggingFaceConfig&, std::string_view key);
/// What sines and cosines are multiplied by (transformers, modeling_rope_utils.py): `yarn` and `longrope` of
/// rope_scaling, or of rope_parameters as later files have it. REQUIRES: read_shape.
void read_rope_scale(spec::Model&, HuggingFaceConfig&);
/// Sliding window in tokens: `absent` when not written, none when null.
void read_window(spec::Model&, HuggingFaceConfig&, std::int64_t absent);

}  // namespace config
