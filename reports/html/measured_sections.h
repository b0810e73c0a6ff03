// reports/html/measured_sections.h -- the sections of a measured step's page, each HTML and empty where it has nothing
// to tell. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/result/difference.h"
#include "core/result/measured_run.h"

namespace reports::html {

/// What the measured times are worth beside the predicted ones. Of a CPU, and of ranks that share a card, they are
/// never compared.
enum class Times : std::uint8_t { comparable, of_cpu, of_shared_cards };
Times times_of(const result::StepDifference&, const result::MeasuredRun*);

std::string losses_section(const result::MeasuredRun&);
std::string step_times_section(const result::MeasuredTime&);
std::string difference_section(const result::StepDifference&, Times);
std::string measured_memory_section(const result::MeasuredRun&);
std::string cards_section(const result::MeasuredRun&);

}  // namespace reports::html
