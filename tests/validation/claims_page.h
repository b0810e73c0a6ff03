// tests/validation/claims_page.h -- docs/claims.md: what guides say, what forerun says, and why they differ where they
// do. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <set>
#include <string>

#include <fmt/format.h>
#include "core/base/text.h"
#include "tests/validation/claim_figures.h"

namespace claims {

inline std::string short_number(double value) {
  if (value == std::round(value) && std::abs(value) < 1e6) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

/// "step time, across / node: 1.69 (1.2 to 20)"
inline std::string told(const Claim& claim) {
  const Figure& f = claim.figure;
  std::string text = quantities().at(f.of).title;
  if (!f.detail.empty()) text += " " + f.detail;
  if (f.of == "first_layer" || f.of == "last_layer") text += fmt::format(" {}", f.stage + 1);
  text += ", " + f.job + (f.over.empty() ? "" : " / " + f.over);
  if (f.of == "fits") return text + (claim.forerun == 1 ? ": yes" : ": no");
  const char* unit = f.over.empty() && f.of.ends_with("_bytes") && f.per == 1e9 ? " GB" : "";
  return text + fmt::format(": **{}**{}", short_number(claim.forerun), unit);
}

inline std::string range(const Claim& claim) {
  if (claim.figure.of == "fits") return claim.low == 1 ? "yes" : "no";
  if (claim.low == claim.high) return short_number(claim.low);
  return short_number(claim.low) + " to " + short_number(claim.high);
}

inline std::string page(const File& file) {
  std::set<std::string> statements;
  std::string otherwise;
  std::size_t differ = 0;
  for (const Claim& c : file.claims) {
    statements.insert(c.id.substr(0, c.id.find('-')));
    if (c.agrees) continue;
    otherwise += (differ++ == 0 ? "" : ", ") + c.id;
  }
  std::string text =
      "# What public guides say, and what forerun answers\n\n"
      "Made from `validation/claims.yaml`, where every row has its jobs; a test keeps each figure and this page true "
      "(`FORERUN_REWRITE_GOLDEN=1` writes both anew).\n"
      "Statements are told in our words. A row is one reading of a statement, with the range that it means. Some are "
      "arithmetic, some are rules of thumb, which hold for some models and networks only; there several rows say for "
      "which. "
      "`best` is the fastest that fits of a few dozen strategies; `a / b` is the figure of a over that of b.\n\n";
  for (const auto& [name, title] : file.sources) text += fmt::format("- {}: {}\n", name, title);
  text += fmt::format("\n{} statements, {} figures: {} as the guides say, {} not ({}).\n", statements.size(),
                      file.claims.size(), file.claims.size() - differ, differ, otherwise);
  for (const auto& [id, reason] : file.left_out) text += fmt::format("\n{} has no row: {}.\n", id, reason);
  text +=
      "\n| | guide | its statement | which means | forerun's answer | as said | why |\n|---|---|---|---|---|---|---|\n";
  for (const Claim& c : file.claims) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", c.id, c.source, c.text, range(c), told(c),
                        c.agrees ? "yes" : "**no**", c.why);
  }
  return text;
}

}  // namespace claims
