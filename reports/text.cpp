// SPDX-License-Identifier: Apache-2.0
#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/text.h"
#include "reports/layout.h"
#include "reports/quantity.h"
#include "reports/shortfall.h"
#include "reports/table.h"

namespace reports {
namespace {

using result::Prediction;
using result::StageMemory;

constexpr std::size_t kMostStages = 12;  // more than that are shown by the fullest ones
constexpr std::size_t kMostCauses = 3;   // of the interval's width
constexpr int kGauge = 10;               // cells
constexpr int kLargestAt = 43;           // column in which a stage's largest categories begin
constexpr int kLargest = kColumns - kLargestAt;
constexpr int kBarAt = 40, kMostBar = 40;  // columns

/// All times of the step in its own unit and with equal decimals, so that a reader can add them up.
std::string of_step(const Prediction& p, double value) {
  if (p.step_time_s >= 1) return fmt::format("{:.3f} s", value);
  if (p.step_time_s >= 1e-3) return fmt::format("{:.3f} ms", value * 1e3);
  return fmt::format("{:.3f} us", value * 1e6);
}

std::string sides(const result::IntervalContribution& c) {
  if (c.faster == c.slower) return percent(c.slower);
  std::string out;
  if (c.faster > 0) out = percent(c.faster) + " faster, ";
  return out + percent(c.slower) + " slower";
}

/// One of the figures on top; what is behind the name stays as it is where it fits.
std::string field(const char* name, const std::string& text, const Style& style) {
  const std::string first = fmt::format("{:<18}", name);
  const bool fits = columns(first) + columns(text) <= style.columns;
  return fits ? first + text + '\n' : paragraph(first, text, style.columns);
}

/// The largest reasons for the interval, as standard deviations of the step.
std::string why_so_wide(const Prediction& p, const Style& style) {
  std::string out;
  const std::size_t shown = std::min(p.interval_contributions.size(), kMostCauses);
  for (std::size_t i = 0; i < shown; ++i) {
    const result::IntervalContribution& c = p.interval_contributions[i];
    out += field(i == 0 ? "Spread" : "", sides(c) + ": " + c.cause, style);
  }
  return out;
}

std::string headline(const Prediction& p, const Style& style) {
  std::string out = paragraph("", p.job, style.columns) + '\n';
  out += field("Step time",
               fmt::format("{}    80 % interval {} to {}", of_step(p, p.step_time_s), of_step(p, p.step_time_low_s),
                           of_step(p, p.step_time_high_s)),
               style);
  out += why_so_wide(p, style);
  const char* unit = result::counted(p);
  if (p.time_to_first_token_s) out += field("First token", of_step(p, *p.time_to_first_token_s), style);
  if (p.time_per_output_token_s) out += field("Each token", of_step(p, *p.time_per_output_token_s), style);
  out += field("Throughput",
               fmt::format("{} {}/s, {} {}/s per GPU", base::with_commas(std::llround(p.tokens_per_s)), unit,
                           base::with_commas(std::llround(p.tokens_per_s_per_gpu)), unit),
               style);
  std::string model = fmt::format("{:.1f} TFLOP/s per GPU, MFU {}", p.model_tflops_per_gpu, percent(p.mfu));
  // The second figure says something only where the step's precision has another peak than bf16.
  if (p.mfu_of_precision != p.mfu) {
    model += fmt::format(" of the bf16 peak, {} of the precision's own", percent(p.mfu_of_precision));
  }
  out += field("Model FLOPs", model, style);
  out += field("Hardware FLOPs",
               fmt::format("{:.1f} TFLOP/s per GPU, HFU {}", p.hardware_tflops_per_gpu, percent(p.hfu)), style);
  return out + field("Pipeline bubble", percent(p.bubble_fraction), style);
}

std::string breakdown(const Prediction& p, const Style& style) {
  if (p.breakdown_s.empty() || !(p.step_time_s > 0)) return "";
  std::string out = p.stages.size() > 1
                        ? fmt::format("\nWhere the time goes, stage {} (the slowest)\n", p.breakdown_stage)
                        : "\nWhere the time goes\n";
  for (const auto& [name, time] : p.breakdown_s) {
    if (time == 0) continue;
    const double share = time / p.step_time_s;
    const std::string length = bar(share, std::min(kMostBar, style.columns - kBarAt));
    out += fmt::format("  {:<14}{:>12}{:>10}{}{}\n", spaced(name), of_step(p, time), percent(share),
                       length.empty() ? "" : "  ", inked(length, name == "bubble" ? Ink::yellow : Ink::cyan, style));
  }
  return out + fmt::format("  {:<14}{:>12}{:>10}\n", "step", of_step(p, p.step_time_s), percent(1));
}

/// "optimizer 20.1 GB, activations 18.0 GB": as many of the largest as `width` columns hold.
std::string largest(const StageMemory& stage, int width) {
  auto sorted = stage.categories;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [name, size] : sorted) {
    const std::string next = fmt::format("{}{} {}", out.empty() ? "" : ", ", spaced(name), bytes(size));
    if (size <= 0 || columns(out) + columns(next) > width) break;
    out += next;
  }
  return out;
}

/// All stages, or the fullest ones in stage order when there are many.
std::vector<const StageMemory*> shown_stages(const Prediction& p) {
  std::vector<const StageMemory*> stages;
  for (const StageMemory& stage : p.stages) stages.push_back(&stage);
  if (stages.size() <= kMostStages) return stages;
  std::stable_sort(stages.begin(), stages.end(), [](auto* a, auto* b) { return a->peak_bytes > b->peak_bytes; });
  stages.resize(kMostStages);
  std::sort(stages.begin(), stages.end(), [](auto* a, auto* b) { return a->stage < b->stage; });
  return stages;
}

std::string memory(const Prediction& p, const Style& style) {
  if (p.stages.empty() || p.capacity_bytes <= 0) return "";
  const auto [least, most] = std::minmax_element(p.stages.begin(), p.stages.end(), [](const auto& a, const auto& b) {
    return a.capacity_bytes < b.capacity_bytes;
  });
  const std::string from = bytes(least->capacity_bytes), to = bytes(most->capacity_bytes);
  std::string out = "\nMemory of one GPU, of " + from;
  if (from != to) out += " to " + to;  // mixed nodes
  out += '\n';
  const auto stages = shown_stages(p);
  for (const StageMemory* stage : stages) {
    const double share = static_cast<double>(stage->peak_bytes) / static_cast<double>(stage->capacity_bytes);
    const std::string row =
        fmt::format("  stage {:<3}{:>9} {:>8}  ", stage->stage, bytes(stage->peak_bytes), percent(share));
    const std::string cells = gauge(share, kGauge);
    const int spaces = std::max(kLargestAt - columns(row) - columns(cells), 1);
    out += paragraph(row + inked(cells, share > 1 ? Ink::red : Ink::green, style) + std::string(spaces, ' '),
                     largest(*stage, std::max(kLargest, style.columns - kLargestAt)), style.columns);
  }
  if (stages.size() < p.stages.size()) {
    out += fmt::format("  and {} stages that hold less\n", p.stages.size() - stages.size());
  }
  const auto fullest = std::max_element(p.stages.begin(), p.stages.end(),
                                        [](const auto& a, const auto& b) { return a.peak_bytes < b.peak_bytes; });
  if (!fullest->peak_operator.empty()) {
    out += paragraph(
        "  peak: ",
        fmt::format("stage {} at {}, {}", fullest->stage, seconds(fullest->peak_time_s), fullest->peak_operator),
        style.columns);
  }
  if (p.host_capacity_bytes > 0) {
    std::string host = fmt::format("{} of {}", bytes(p.host_bytes), bytes(p.host_capacity_bytes));
    if (p.nvme_bytes > 0) {
      host += fmt::format("; its drives: {}", bytes(p.nvme_bytes));
      if (p.nvme_capacity_bytes > 0) host += fmt::format(" of {}", bytes(p.nvme_capacity_bytes));
    }
    out += paragraph("  host of a node: ", host, style.columns);
  }
  return out;
}

std::string communication(const Prediction& p, const Style& style) {
  using enum Column::Kind;
  Table table(2, {{"axis", text, 12},
                  {"calls", number, 10},
                  {"payload", number, 12},
                  {"time", number, 12},
                  {"bus bandwidth", number, 16}});
  bool any = false;
  constexpr std::int64_t kWords = 1024;  // bytes: a flag or a norm takes what the latest rank and the latency do
  for (const result::Communication& axis : p.communication) {
    if (axis.calls == 0) continue;
    any = true;
    const bool moves = axis.bus_bandwidth > 0 && axis.bytes >= kWords * axis.calls;
    table.add({axis.axis, base::with_commas(axis.calls), bytes(axis.bytes), seconds(axis.time_s),
               moves ? base::human(base::ByteRate(axis.bus_bandwidth)) : "-"});
  }
  return any ? "\nCommunication of one rank in a step, hidden or not\n" + table.text(style) : "";
}

std::string does_not_fit(const Prediction& p, const Style& style) {
  if (p.fits) return "";
  std::string out = '\n' + paragraph(inked("DOES NOT FIT", Ink::red, style) + ": ", shortfall_words(p), style.columns);
  if (!p.attack.empty()) out += paragraph("  attack ", spaced(p.attack), style.columns);
  if (p.mends.empty()) return out + "    none of the changes that were tried makes it fit\n";
  return out + mend_lines(p, "    with ", "    or   ", style.columns);
}

std::string listed(const char* title, const std::vector<std::string>& lines, const Style& style) {
  if (lines.empty()) return "";
  std::string out = std::string("\n") + title + '\n';
  for (const std::string& line : lines) out += paragraph("  - ", line, style.columns);
  return out;
}

/// One line: what people must know is how much of it was measured. The JSON names every source.
std::string provenance(const Prediction& p, const Style& style) {
  if (p.provenance.empty()) return "";
  std::vector<std::pair<std::string, int>> kinds;
  for (const result::Provenance& number : p.provenance) {
    const auto at = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == number.kind; });
    at == kinds.end() ? void(kinds.emplace_back(number.kind, 1)) : void(++at->second);
  }
  std::string text;
  for (const auto& [kind, count] : kinds) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  return '\n' + paragraph("Calibrated numbers: ", text + " (sources: --json -)", style.columns);
}

}  // namespace

std::string summary(const Prediction& p, const Style& style) {
  return headline(p, style) + breakdown(p, style) + memory(p, style) + communication(p, style) +
         does_not_fit(p, style) + listed("Warnings", p.warnings, style) +
         listed("Assumed where the job says nothing", p.assumptions, style) + provenance(p, style);
}

}  // namespace reports
