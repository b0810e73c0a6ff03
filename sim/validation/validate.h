// sim/validation/validate.h -- predicts every case of validation files and holds it against what was measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/config/case_reader.h"
#include "core/result/prediction.h"
#include "core/result/validation.h"

namespace sim {

/// Told after each case; calls never overlap, but come from several threads.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

/// Drops the cases of another tier; those whose tier could not be read stay. Empty keeps all.
void keep_tier(const std::string& tier, std::vector<config::CaseFile>&);

/// Runs the cases on all cores; same input, same answer. `tier` "A" or "B" keeps the cases of that tier and those whose
/// tier could not be read; empty keeps all. A case that fails in any way is a row with an error_message.
result::Validation validate(std::vector<config::CaseFile> files, const std::string& tier = "", const Progress& = {});

/// Fills in the predicted side of a row and how far it is from the measured one. Memory is compared with the
/// allocator's peak, without `reserved` and `communication`, where that was measured; with everything that the GPU
/// holds otherwise.
void compare(const result::Prediction&, result::ValidationCase& row);

}  // namespace sim
