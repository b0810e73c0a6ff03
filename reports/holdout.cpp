// SPDX-License-Identifier: Apache-2.0
#include "reports/holdout.h"

#include <fmt/format.h>

#include "reports/layout.h"
#include "reports/quantity.h"
#include "reports/table.h"

namespace reports {
namespace {

using result::Holdout;
using result::HoldoutChoice;
using result::HoldoutGroup;

/// Alternatives may be less than a tenth of a percent apart.
std::string fine(double share) { return fmt::format("{:.2f} %", share * 100); }

/// A group or the mean of all.
template <class Row>
std::vector<Cell> cells(const std::string& name, const std::string& rows, const Row& row) {
  return {name,
          rows,
          percent(row.present.median_abs_error),
          percent(row.in_sample.median_abs_error),
          percent(row.held_out.median_abs_error),
          fmt::format("{:+.1f} %", row.held_out.mean_signed_error * 100),
          percent(row.inside_with),
          percent(row.inside_without)};
}

std::string changes(const Holdout& holdout, const HoldoutGroup& group, const Style& style) {
  std::string out;
  for (const result::HoldoutChange& change : group.changes) {
    const HoldoutChoice& choice = holdout.choices[change.choice];
    out += (out.empty() ? "" : ", ") + choice.name + ": " + choice.alternatives[change.alternative].name;
  }
  return out.empty() ? out : paragraph("    ", out, style.columns);
}

void add(const HoldoutChoice& choice, Table& table, const Style& style) {
  table.add_lines(paragraph("", choice.name + ": " + choice.decides, style.columns));
  for (std::size_t a = 0; a < choice.alternatives.size(); ++a) {
    const result::HoldoutAlternative& one = choice.alternatives[a];
    const char* role = a == choice.present && a == choice.in_sample ? "catalogue, refit"
                       : a == choice.present                        ? "catalogue"
                       : a == choice.in_sample                      ? "refit"
                                                                    : "";
    table.add({"  " + one.name, std::to_string(one.rows), fine(one.alone), fine(one.beside_refit), role});
  }
}

}  // namespace

std::string holdout_text(const Holdout& holdout, const Style& style) {
  using enum Column::Kind;
  Table groups(0, {{"Left out, by " + holdout.key, text, 32},
                   {"rows", number, 6},
                   {"catalogue", number, 11},
                   {"in-sample", number, 11},
                   {"held out", number, 10},
                   {"signed", number, 10},
                   {"in 80%", number, 9},
                   {"without", number, 9}});
  for (const HoldoutGroup& group : holdout.groups) {
    groups.add(cells(group.name, std::to_string(group.rows), group));
    groups.add_lines(changes(holdout, group, style));
  }
  groups.add(cells(fmt::format("mean of {}", holdout.groups.size()), "", holdout));
  Table choices(0, {{"Mean of medians by alternative", text, 32},
                    {"rows", number, 6},
                    {"catalogue", number, 11},
                    {"in-sample", number, 11},
                    {"", text, 0, 3}});
  for (const HoldoutChoice& choice : holdout.choices) add(choice, choices, style);
  std::string out = groups.text(style);
  out += fmt::format("\nHeld out over in-sample: {:.3f}\n\n", holdout.ratio);
  out +=
      paragraph("",
                "Median errors with the catalogue's choices, with those made on all groups and with those made on the "
                "others, which are named below a group where they are not the catalogue's; mean signed error held out; "
                "share of rows in the 80 % interval with its constants fitted with and without the group.",
                style.columns);
  return out + '\n' + choices.text(style);
}

}  // namespace reports
