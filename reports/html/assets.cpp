// SPDX-License-Identifier: Apache-2.0
#include "reports/html/assets.h"

#include <algorithm>

namespace reports::html {

bool has_vega() {
  return std::any_of(assets().begin(), assets().end(), [](const Asset& asset) { return asset.name == "vega.js"; });
}

}  // namespace reports::html
