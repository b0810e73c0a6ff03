// reports/html/words.h -- names of results as people read them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

namespace reports::html {

/// "exposed_tp" as "exposed tp"
inline std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

inline std::string stage_name(int stage) { return "stage " + std::to_string(stage); }

}  // namespace reports::html
