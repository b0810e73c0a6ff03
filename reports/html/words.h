// reports/html/words.h -- names of results as people read them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace reports::html {

inline std::string stage_name(int stage) { return "stage " + std::to_string(stage); }

}  // namespace reports::html
