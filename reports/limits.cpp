// SPDX-License-Identifier: Apache-2.0
#include "reports/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "reports/json.h"
#include "reports/json_object.h"
#include "reports/layout.h"
#include "reports/quantity.h"
#include "reports/shortfall.h"
#include "reports/table.h"
#include "reports/tight.h"

namespace reports {
namespace {

constexpr int kIndent = 15;  // of what stands below a size

using result::Limit;
using result::Limits;
using result::Prediction;

std::string of_capacity(const Prediction& p) { return bytes(p.peak_bytes) + " of " + bytes(p.capacity_bytes); }

std::string billions(std::int64_t parameters) {
  return parameters == 0 ? "-" : fmt::format("{:.1f}e9", static_cast<double>(parameters) / 1e9);
}

std::string beyond(const Limit& limit) {
  if (!limit.next) return "the largest tried";
  if (!limit.next_refusal.empty()) return "the largest allowed: " + limit.next_refusal;
  const Prediction& p = limit.next_prediction;
  const auto [needed, there] = shortfall_of(p);
  const char* of = p.attack == "host_memory" ? " of the host's " : p.attack == "nvme" ? " of the drives' " : nullptr;
  return fmt::format("{} would take {}", base::with_commas(*limit.next), bytes(needed)) +
         (of ? of + bytes(there) : std::string());
}

void add(const Limit& limit, Table& table, const Style& style) {
  if (!limit.refusal.empty()) {
    return table.add_lines(paragraph(fmt::format("  {:<12}not varied: ", limit.size), limit.refusal, style.columns));
  }
  const std::string given = base::with_commas(limit.given);
  if (!limit.reached) return table.add({limit.size, given, "-", "", "", "", "", {"no value fits", Ink::red}});
  const Prediction& p = limit.prediction;
  table.add({limit.size, given, base::with_commas(*limit.reached), limit.unit, billions(limit.parameters),
             base::human(base::Seconds(p.step_time_s)), percent(p.mfu),
             of_capacity(p) + (limit.tight ? std::string(", ") + kTightMark : "")});
  table.add_lines(paragraph(std::string(kIndent, ' '), beyond(limit), style.columns));
}

std::string settings(const Limits& all, const Style& style) {
  std::string out;
  for (const Limit& limit : all.limits) {
    std::string flags;
    for (const auto& [path, value] : limit.settings)
      flags += (flags.empty() ? "--set " : " --set ") + path + "=" + value;
    if (!flags.empty()) out += paragraph(fmt::format("  {:<12} ", limit.size), flags, style.columns);
  }
  return out.empty() ? out : "\nAs flags\n" + out;
}

std::string warnings(const Limits& all, const Style& style) {
  std::vector<std::string> out;
  for (const Limit& limit : all.limits) {
    for (const std::string& warning : limit.warnings) out.push_back(limit.size + ": " + warning);
  }
  return warnings_text(std::move(out), style.columns);
}

Json limit_json(const Limit& limit) {
  Json out{{"size", limit.size}};
  if (!limit.refusal.empty()) {
    out["refusal"] = limit.refusal;
    return out;
  }
  out["unit"] = limit.unit;
  out["given"] = limit.given;
  out["reached"] = limit.reached ? Json(*limit.reached) : Json(nullptr);
  out["next"] = limit.next ? Json(*limit.next) : Json(nullptr);
  if (!limit.next_refusal.empty()) {
    out["next_refusal"] = limit.next_refusal;
  } else if (limit.next) {
    const auto [needed, there] = shortfall_of(limit.next_prediction);
    out["next_peak_bytes"] = limit.next_prediction.peak_bytes;
    out["next_attack"] = limit.next_prediction.attack;
    out["next_short_bytes"] = needed - there;
  }
  if (!limit.reached) return out;
  const Prediction& p = limit.prediction;
  out["settings"] = object_of(limit.settings);
  out["parameters"] = limit.parameters;
  out["step_time_s"] = p.step_time_s;
  out["tokens_per_s"] = p.tokens_per_s;
  out["mfu"] = p.mfu;
  out["peak_bytes"] = p.peak_bytes;
  out["capacity_bytes"] = p.capacity_bytes;
  out["tight"] = limit.tight;
  out["warnings"] = limit.warnings;
  return out;
}

}  // namespace

std::string text(const Limits& all, const Style& style) {
  std::string out = paragraph("", all.given.job, style.columns);
  out +=
      paragraph("",
                fmt::format("The job as given {}: {}.",
                            all.given.fits ? "fits" : inked("does not fit", Ink::red, style), of_capacity(all.given)),
                style.columns) +
      '\n';
  using enum Column::Kind;
  Table table(2, {{"", text, 12},
                  {"given", number, 11},
                  {"fits", number, 11},
                  {"", text, 10},
                  {"params", number, 9},
                  {"step time", number, 11},
                  {"MFU", number, 9},
                  {"memory", text, 0, 2}});
  for (const Limit& limit : all.limits) add(limit, table, style);
  const bool tight = std::ranges::any_of(all.limits, &Limit::tight);
  return out + table.text(style) + (tight ? '\n' + paragraph("", tight_words(), style.columns) : "") +
         settings(all, style) + warnings(all, style);
}

std::string json(const Limits& all) {
  Json out{{"schema", kSchema}, {"job", all.given.job}, {"fits", all.given.fits}, {"parameters", all.parameters}};
  out["peak_bytes"] = all.given.peak_bytes;
  out["capacity_bytes"] = all.given.capacity_bytes;
  out["limits"] = Json::array();
  for (const Limit& limit : all.limits) out["limits"].push_back(limit_json(limit));
  return text_of(out);
}

}  // namespace reports
