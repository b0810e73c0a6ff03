// SPDX-License-Identifier: Apache-2.0
#include "reports/shortfall.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/layout.h"
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

std::vector<std::string> mend_words(const result::Prediction& p) {
  std::vector<std::string> out = p.mends;
  for (std::size_t i = 0; i < p.mend_step_times_s.size(); ++i) out[i] += " (" + seconds(p.mend_step_times_s[i]) + ")";
  return out;
}

std::string mend_lines(const result::Prediction& p, std::string_view first, std::string_view other, int width) {
  constexpr int kTime = 9;  // columns
  int flags_width = 0;
  for (const std::string& flags : p.mends) flags_width = std::max(flags_width, columns(flags));
  const bool timed = !p.mend_step_times_s.empty();
  const bool in_columns = timed && columns(first) + flags_width + kTime <= width;
  std::string out;
  for (std::size_t i = 0; i < p.mends.size(); ++i) {
    const std::string_view begin = i ? other : first;
    if (in_columns) {
      out += fmt::format("{}{:<{}}{:>{}}\n", begin, p.mends[i], flags_width, seconds(p.mend_step_times_s[i]), kTime);
      continue;
    }
    out += paragraph(begin, p.mends[i], width);
    if (timed) out += paragraph(std::string(columns(begin), ' '), "takes " + seconds(p.mend_step_times_s[i]), width);
  }
  return out;
}

}  // namespace reports
