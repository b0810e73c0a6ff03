// SPDX-License-Identifier: Apache-2.0
#include "reports/holdout.h"

#include <fmt/format.h>

#include <optional>

#include "reports/layout.h"

namespace reports {
namespace {

using result::Holdout;
using result::HoldoutChoice;
using result::HoldoutGroup;

std::string share(const std::optional<double>& value) { return value ? percent(*value) : "-"; }

/// Alternatives may be less than a tenth of a percent apart.
std::string fine(double share) { return fmt::format("{:.2f} %", share * 100); }

std::string line(const std::string& name, const std::string& rows, const std::string& catalogue,
                 const std::string& in_sample, const std::string& held_out, const std::string& signed_error,
                 const std::string& inside, const std::string& without) {
  return fmt::format("{:<32}{:>6}{:>11}{:>11}{:>10}{:>10}{:>9}{:>9}\n", name, rows, catalogue, in_sample, held_out,
                     signed_error, inside, without);
}

/// A group or the mean of all.
template <class Row>
std::string line(const std::string& name, const std::string& rows, const Row& row) {
  return line(name, rows, percent(row.present.median_abs_error), percent(row.in_sample.median_abs_error),
              percent(row.held_out.median_abs_error), fmt::format("{:+.1f} %", row.held_out.mean_signed_error * 100),
              share(row.inside_with), share(row.inside_without));
}

std::string changes(const Holdout& holdout, const HoldoutGroup& group) {
  std::string out;
  for (const result::HoldoutChange& change : group.changes) {
    const HoldoutChoice& choice = holdout.choices[change.choice];
    out += (out.empty() ? "" : ", ") + choice.name + ": " + choice.alternatives[change.alternative].name;
  }
  return out.empty() ? out : paragraph("    ", out);
}

std::string choice_lines(const HoldoutChoice& choice) {
  std::string out = paragraph("", choice.name + ": " + choice.decides);
  for (std::size_t a = 0; a < choice.alternatives.size(); ++a) {
    const result::HoldoutAlternative& one = choice.alternatives[a];
    const std::string role = a == choice.present && a == choice.in_sample ? "catalogue, refit"
                             : a == choice.present                        ? "catalogue"
                             : a == choice.in_sample                      ? "refit"
                                                                          : "";
    out += fmt::format("  {:<30}{:>6}{:>11}{:>11}   {}", one.name, one.rows, fine(one.alone), fine(one.beside_refit),
                       role);
    while (out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

}  // namespace

std::string holdout_text(const Holdout& holdout) {
  std::string out =
      line("Left out, by " + holdout.key, "rows", "catalogue", "in-sample", "held out", "signed", "in 80%", "without");
  for (const HoldoutGroup& group : holdout.groups) {
    out += line(group.name, std::to_string(group.rows), group) + changes(holdout, group);
  }
  out += line(fmt::format("mean of {}", holdout.groups.size()), "", holdout);
  out += fmt::format("\nHeld out over in-sample: {:.3f}\n\n", holdout.ratio);
  out +=
      paragraph("",
                "Median errors with the catalogue's choices, with those made on all groups and with those made on the "
                "others, which are named below a group where they are not the catalogue's; mean signed error held out; "
                "share of rows in the 80 % interval with its constants fitted with and without the group.");
  out += fmt::format("\n{:<32}{:>6}{:>11}{:>11}\n", "Mean of medians by alternative", "rows", "catalogue", "in-sample");
  for (const HoldoutChoice& choice : holdout.choices) out += choice_lines(choice);
  return out;
}

}  // namespace reports
