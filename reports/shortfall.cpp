// SPDX-License-Identifier: Apache-2.0
#include "reports/shortfall.h"

#include <fmt/format.h>

#include "reports/quantity.h"

namespace reports {

Shortfall shortfall_of(const result::Prediction& p) {
  if (p.attack == "host_memory") return {p.host_bytes, p.host_capacity_bytes};
  if (p.attack == "nvme") return {p.nvme_bytes, p.nvme_capacity_bytes};
  return {p.peak_bytes, p.capacity_bytes};
}

std::string shortfall_words(const result::Prediction& p) {
  const auto [needed, there] = shortfall_of(p);
  return fmt::format("{} needed, {} there ({} too much)", bytes(needed), bytes(there), bytes(needed - there));
}

}  // namespace reports
