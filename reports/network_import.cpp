// SPDX-License-Identifier: Apache-2.0
#include "reports/network_import.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "reports/layout.h"

namespace reports {

std::string network_import_text(const result::NetworkImport& import) {
  const auto size = [](std::int64_t bytes) { return base::human(base::Bytes(static_cast<double>(bytes))); };
  std::string out = fmt::format("{}; fitted from {}\n{:<16}{:>6}{:>12}{:>12}{:>10}{:>12}{:>10}\n", import.path,
                                import.base, "collective", "rows", "from", "to", "ranks", "median", "spread");
  for (const result::ImportedCollective& one : import.fitted) {
    const std::string ranks = one.fewest_ranks == one.most_ranks
                                  ? std::to_string(one.most_ranks)
                                  : fmt::format("{}-{}", one.fewest_ranks, one.most_ranks);
    out += fmt::format("{:<16}{:>6}{:>12}{:>12}{:>10}{:>12}{:>10.3f}\n", one.op, one.rows, size(one.from_bytes),
                       size(one.to_bytes), ranks, percent(one.median_abs_error), one.residual);
  }
  std::string guessed;
  for (const std::string& one : import.guessed) guessed += (guessed.empty() ? "" : ", ") + one;
  if (!guessed.empty()) out += paragraph("not in the logs, so as in " + import.base + ": ", guessed);
  for (const std::string& warning : import.warnings) out += paragraph("warning: ", warning);
  return out;
}

}  // namespace reports
