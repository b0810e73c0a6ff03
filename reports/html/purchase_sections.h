// reports/html/purchase_sections.h -- the sections of a purchase plan's page, each HTML and empty where it has nothing
// to tell. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/purchase.h"

namespace reports::html {

std::string days_and_cost_section(const result::Purchase&);
std::string candidates_section(const result::Purchase&);
std::string flips_section(const result::Purchase&);
std::string break_even_section(const result::Purchase&);
std::string strategies_section(const result::Purchase&);
std::string failures_section(const result::Purchase&);
std::string figures_section(const result::Purchase&);  // each with its date and who says so
std::string assumptions_section(const result::Purchase&);

}  // namespace reports::html
