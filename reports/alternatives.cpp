// SPDX-License-Identifier: Apache-2.0
#include "reports/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/json.h"
#include "reports/json_object.h"
#include "reports/layout.h"
#include "reports/quantity.h"

namespace reports {
namespace {

using result::Alternative;
using result::Alternatives;
using result::Prediction;

std::string seconds(double value) { return base::human(base::Seconds(value)); }

struct Row {
  std::string name;
  const Prediction* step;
};

std::vector<Row> rows_of(const Alternatives& a) {
  std::vector<Row> out{{"as it is", &a.before}};
  for (const Alternative& one : a.after) out.push_back({one.change, &one.prediction});
  return out;
}

int width_of(const std::vector<Row>& rows) {
  int width = 0;
  for (const Row& row : rows) width = std::max(width, columns(row.name));
  return std::min(width, 34);
}

std::string memory(const Prediction& p, const Style& style) {
  const auto bytes = [](std::int64_t n) { return base::human(base::Bytes(static_cast<double>(n))); };
  return fmt::format("{} of {}{}", bytes(p.peak_bytes), bytes(p.capacity_bytes),
                     p.fits ? "" : ", " + inked("too much", Ink::red, style));
}

std::string steps(const std::vector<Row>& rows, int width, const Style& style) {
  std::string out = fmt::format("\n  {:<{}} {:>10} {:>8} {:>12} {:>7}  {}\n", "", width, "step time", "", "tokens/s",
                                "MFU", "memory");
  const double before = rows.front().step->step_time_s;
  for (const Row& row : rows) {
    const Prediction& p = *row.step;
    const std::string change =
        fmt::format("{:>8}", &row == &rows.front() ? "" : fmt::format("{:+.1f} %", (p.step_time_s / before - 1) * 100));
    out += fmt::format("  {:<{}} {:>10} {} {:>12} {:>7}  {}\n", row.name, width, seconds(p.step_time_s),
                       inked(change, p.step_time_s > before ? Ink::red : Ink::green, style),
                       base::with_commas(static_cast<long long>(p.tokens_per_s)), percent(p.mfu), memory(p, style));
  }
  return out;
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

using Shown = std::vector<std::size_t>;  // indices into Prediction::breakdown_s

/// Those that any of the rows has.
Shown shown_shares(const std::vector<Row>& rows) {
  Shown out;
  for (std::size_t k = 0; k < rows.front().step->breakdown_s.size(); ++k) {
    const auto has = [&](const Row& row) { return row.step->breakdown_s[k].second > 0; };
    if (std::any_of(rows.begin(), rows.end(), has)) out.push_back(k);
  }
  return out;
}

/// One column a share, as many below one another as the screen is wide.
std::string shares(const std::vector<Row>& rows, int width, const Style& style) {
  constexpr int kColumn = 11;
  const Shown shown = shown_shares(rows);
  const auto most = static_cast<std::size_t>(std::max(1, (style.columns - 2 - width) / kColumn));
  std::string out;
  for (std::size_t begin = 0; begin < shown.size(); begin += most) {
    const Shown part(shown.begin() + static_cast<std::ptrdiff_t>(begin),
                     shown.begin() + static_cast<std::ptrdiff_t>(std::min(begin + most, shown.size())));
    out += fmt::format("\n  {:<{}}", "where the time goes", width);
    for (const std::size_t k : part) {
      out += fmt::format("{:>{}}", spaced(rows.front().step->breakdown_s[k].first), kColumn);
    }
    for (const Row& row : rows) {
      out += fmt::format("\n  {:<{}}", row.name, width);
      for (const std::size_t k : part) out += fmt::format("{:>{}}", seconds(row.step->breakdown_s[k].second), kColumn);
    }
    out += '\n';
  }
  return out;
}

std::string settings(const Alternatives& a) {
  std::string out = "\nChanged\n";
  for (const Alternative& one : a.after) {
    if (&one == &a.after.back() && a.after.size() > 1) break;  // together: all that was told before
    for (const result::ChangedInput& input : one.inputs) {
      out += fmt::format("  {:<34} {:>12} to {}\n", input.input, human(input.before, input.unit),
                         human(input.after, input.unit));
    }
  }
  return out;
}

Json step_json(const Prediction& p) {
  return {{"step_time_s", p.step_time_s},
          {"tokens_per_s", p.tokens_per_s},
          {"mfu", p.mfu},
          {"fits", p.fits},
          {"peak_bytes", p.peak_bytes},
          {"capacity_bytes", p.capacity_bytes},
          {"bubble_fraction", p.bubble_fraction},
          {"breakdown_s", object_of(p.breakdown_s)}};
}

}  // namespace

std::string text(const Alternatives& a, const Style& style) {
  const std::vector<Row> rows = rows_of(a);
  const int width = std::max(width_of(rows), 19);
  return paragraph("", a.before.job, style.columns) + steps(rows, width, style) + shares(rows, width, style) +
         settings(a);
}

std::string json(const Alternatives& a) {
  Json out;
  out["schema"] = kSchema;
  out["job"] = a.before.job;
  out["before"] = step_json(a.before);
  out["after"] = Json::array();
  for (const Alternative& one : a.after) {
    Json entry{{"change", one.change}, {"inputs", Json::array()}};
    for (const result::ChangedInput& input : one.inputs) {
      entry["inputs"].push_back(
          {{"input", input.input}, {"unit", input.unit}, {"before", input.before}, {"after", input.after}});
    }
    entry["saved_s"] = a.before.step_time_s - one.prediction.step_time_s;
    entry.update(step_json(one.prediction));
    out["after"].push_back(std::move(entry));
  }
  return text_of(out);
}

}  // namespace reports
