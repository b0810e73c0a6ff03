// SPDX-License-Identifier: Apache-2.0
#include "reports/network_import.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "reports/layout.h"
#include "reports/table.h"

namespace reports {

std::string network_import_text(const result::NetworkImport& import, const Style& style) {
  const auto size = [](std::int64_t bytes) { return base::human(base::Bytes(static_cast<double>(bytes))); };
  using enum Column::Kind;
  Table table(0, {{"collective", text, 16},
                  {"rows", number, 6},
                  {"from", number, 12},
                  {"to", number, 12},
                  {"ranks", number, 10},
                  {"median", number, 12},
                  {"spread", number, 10}});
  for (const result::ImportedCollective& one : import.fitted) {
    const std::string ranks = one.fewest_ranks == one.most_ranks
                                  ? std::to_string(one.most_ranks)
                                  : fmt::format("{}-{}", one.fewest_ranks, one.most_ranks);
    table.add({one.op, std::to_string(one.rows), size(one.from_bytes), size(one.to_bytes), ranks,
               percent(one.median_abs_error), fmt::format("{:.3f}", one.residual)});
  }
  std::string out = paragraph("", import.path + "; fitted from " + import.base, style.columns) + table.text(style);
  if (!import.guessed.empty())
    out += paragraph("not in the logs, so as in " + import.base + ": ", base::joined(import.guessed), style.columns);
  for (const std::string& warning : import.warnings) out += paragraph("warning: ", warning, style.columns);
  return out;
}

}  // namespace reports
