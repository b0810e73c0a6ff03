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

}  // namespace config
