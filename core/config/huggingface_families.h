// core/config/huggingface_families.h -- the architectures whose config.json is known.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "core/config/huggingface_shape.h"

namespace config {

struct HuggingFaceArchitecture {
  std::string_view model_type, class_name;
  void (*read)(spec::Model&, HuggingFaceConfig&);
};

/// All that are known, by model type; those of one class stand together.
std::span<const HuggingFaceArchitecture> huggingface_architectures();

/// Whether a model type, or the name of a class, is of models known to have state-space (recurrent) layers.
bool has_recurrent_layers(std::string_view name);
/// What an architecture has that no key of a model says, so that its files are not read; empty: none is known to have
/// it.
std::string_view beyond_the_keys(std::string_view name);
/// What tells a class: "Mamba2" of Mamba2ForCausalLM.
std::string_view class_stem(std::string_view class_name);

}  // namespace config
