// core/config/launch/torchtitan.h -- the models that torchtitan knows by name and flavor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/config/document.h"

namespace config::launch {

struct Flavor {
  const char *model, *name, *flavor;  // a catalogue model; torchtitan's [model] name and flavor
};
/// torchtitan/models/*/__init__.py (0.2, 2025). The catalogue's shapes are compared, so of equal ones the first is
/// read.
inline constexpr std::array kFlavors{
    Flavor{"llama3.1-8b", "llama3", "8B"},       Flavor{"llama3.1-70b", "llama3", "70B"},
    Flavor{"llama3.1-405b", "llama3", "405B"},   Flavor{"deepseek-v3", "deepseek_v3", "671B"},
    Flavor{"qwen3-0.6b", "qwen3", "0.6B"},       Flavor{"qwen3-1.7b", "qwen3", "1.7B"},
    Flavor{"qwen3-4b", "qwen3", "4B"},           Flavor{"qwen3-8b", "qwen3", "8B"},
    Flavor{"qwen3-14b", "qwen3", "14B"},         Flavor{"qwen3-32b", "qwen3", "32B"},
    Flavor{"qwen3-30b-a3b", "qwen3", "30B-A3B"}, Flavor{"qwen3-235b-a22b", "qwen3", "235B-A22B"}};

/// A TOML file as a tree, places included. Throws base::InputError.
Value load_toml(const std::string& path);

/// The modules of each of torchtitan's model parts, for these layers of each, and the other way: nothing for parts that
/// do not hold consecutive layers between the embedding and the output.
Value model_parts(const std::vector<int>& layers);
std::vector<int> layers_of_parts(const Value& parts);

}  // namespace config::launch
