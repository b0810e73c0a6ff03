// core/config/huggingface.h -- a Hugging Face config.json as a spec::Model.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/document.h"
#include "core/config/map_reader.h"
#include "core/spec/model.h"

namespace config {

/// Whether a tree is a Hugging Face config (has model_type or architectures).
bool is_huggingface(const Value&);
/// Reads it. Keys that say nothing about shapes are ignored; an architecture that is not known is a fault naming those
/// that are. `file_stem` names the model when the file does not. `assumptions`: takes a line for each figure of
/// the shape that the file lacks, for which Transformers has a default.
spec::Model read_huggingface(const Value&, const std::string& file_stem, Faults&,
                             std::vector<std::string>* assumptions = nullptr);

}  // namespace config
