// core/config/launch/maxtext.h -- what MaxText's configuration calls things: models by name, and the axes of its mesh.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/config/launch/import.h"
#include "core/config/launch/shell_variables.h"

namespace config::launch {

struct MaxtextModel {
  const char *ours, *theirs;  // a catalogue model; model_name
};
/// MaxText/configs/models (2025). The catalogue's shapes are compared, so of equal ones the first is written.
inline constexpr std::array kMaxtextModels{
    MaxtextModel{"llama2-7b", "llama2-7b"},         MaxtextModel{"llama2-13b", "llama2-13b"},
    MaxtextModel{"llama2-70b", "llama2-70b"},       MaxtextModel{"llama3-8b", "llama3-8b"},
    MaxtextModel{"llama3-70b", "llama3-70b"},       MaxtextModel{"llama3.1-8b", "llama3.1-8b"},
    MaxtextModel{"llama3.1-70b", "llama3.1-70b"},   MaxtextModel{"llama3.1-70b", "llama3.3-70b"},
    MaxtextModel{"llama3.1-405b", "llama3.1-405b"}, MaxtextModel{"llama3.1-405b", "llama3-405b"},
    MaxtextModel{"mixtral-8x7b", "mixtral-8x7b"},   MaxtextModel{"qwen3-0.6b", "qwen3-0.6b"},
    MaxtextModel{"qwen3-4b", "qwen3-4b"},           MaxtextModel{"qwen3-8b", "qwen3-8b"},
    MaxtextModel{"qwen3-14b", "qwen3-14b"},         MaxtextModel{"qwen3-32b", "qwen3-32b"},
    MaxtextModel{"qwen3-30b-a3b", "qwen3-30b-a3b"}, MaxtextModel{"qwen3-235b-a22b", "qwen3-235b-a22b"}};

/// "ici_fsdp_parallelism": inside of a node; "dcn_...": over nodes.
inline std::string mesh_axis(const char* where, std::string_view axis) {
  return std::string(where) + "_" + std::string(axis) + "_parallelism";
}

/// By its name; anything else is a shell script.
inline bool is_maxtext_configuration(std::string_view file) {
  return file.ends_with(".yml") || file.ends_with(".yaml") || file.ends_with(".json");
}
/// A configuration and what it is based on, or the first call of its train.py in a shell script: NAME=VALUE over the
/// configuration that it names. Throws base::InputError.
Settings parse_maxtext(const std::string& path, GivenVariables&);
void read_maxtext(Import&);

}  // namespace config::launch
