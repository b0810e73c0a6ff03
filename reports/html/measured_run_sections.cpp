// What a run of several steps tells: losses, step times, memory against the Plan's ledger, the cards.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reports/html/chart.h"
#include "reports/html/measured_sections.h"
#include "reports/html/page.h"
#include "reports/quantity.h"

namespace reports::html {
namespace {

using result::MeasuredCard;
using result::MeasuredRun;
using ByCategory = std::vector<std::pair<std::string, std::int64_t>>;

std::int64_t held(const ByCategory& memory, const std::string& category) {
  for (const auto& [name, bytes] : memory) {
    if (name == category) return bytes;
  }
  return 0;
}

std::int64_t total(const ByCategory& memory) {
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : memory) sum += bytes;
  return sum;
}

/// Every category of either side, in the Plan's order.
std::vector<std::string> categories(const result::MeasuredMemory& memory) {
  std::vector<std::string> out;
  for (const ByCategory* side : {&memory.planned, &memory.measured}) {
    for (const auto& [name, bytes] : *side) {
      if (bytes > 0 && std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

std::string memory_chart(const result::MeasuredMemory& memory, const std::vector<std::string>& names) {
  Table table{"Memory by category", {{"label", "Which"}, {"kind", "Category"}, {"value", "Memory", true}}, {}};
  for (const auto& [label, side] : {std::pair{"the Plan's ledger", &memory.planned}, {"measured", &memory.measured}}) {
    for (const std::string& name : names) {
      const std::int64_t here = held(*side, name);
      if (here > 0) table.rows.push_back({text(label), text(spaced(name)), bytes(here)});
    }
  }
  return figure({"stacked",
                 "What fills the memory at its highest.",
                 fmt::format("Rank {}, the fullest: what the Plan counts, and what the run took.", memory.rank),
                 table,
                 {{"x_title", "memory of one rank"}, {"x_format", "s"}, {"x_unit", "B"}},
                 {},
                 true});
}

std::string memory_table(const result::MeasuredMemory& memory, const std::vector<std::string>& names) {
  Table table{"Memory by category, at either side's highest",
              {{"category", "Category"},
               {"planned", "The Plan's ledger", true},
               {"measured", "Measured", true},
               {"difference", "Difference", true}},
              {}};
  const auto add = [&](const std::string& name, std::int64_t planned, std::int64_t measured) {
    table.rows.push_back(
        {text(name), bytes(planned), bytes(measured),
         planned > 0 ? signed_share(static_cast<double>(measured) / static_cast<double>(planned) - 1) : none()});
  };
  for (const std::string& name : names) add(spaced(name), held(memory.planned, name), held(memory.measured, name));
  add("all", total(memory.planned), total(memory.measured));
  return html_of(table, true);
}

std::string slowed(const MeasuredCard& card) {
  return card.slowed_by.empty() ? "nothing" : base::joined(card.slowed_by);
}

}  // namespace

std::string losses_section(const MeasuredRun& run) {
  Table table{"Loss and gradient norm of each step",
              {{"step", "Step", true}, {"value", "Loss", true}, {"norm", "Gradient norm", true}},
              {}};
  for (std::size_t i = 0; i < run.losses.size(); ++i) {
    const bool known = i < run.gradient_norms.size() && run.gradient_norms[i];
    table.rows.push_back({count(static_cast<std::int64_t>(i) + 1),
                          std::isnan(run.losses[i]) ? none() : decimal(run.losses[i], 4),
                          known ? decimal(*run.gradient_norms[i], 4) : none()});
  }
  return figure(
      {"steps", "Loss by step.", "Nats a token, the mean over the step's tokens.", table, {{"y_title", "loss"}}});
}

std::string step_times_section(const result::MeasuredTime& time) {
  Table table{"Time of each step", {{"step", "Step", true}, {"value", "Time", true}}, {}};
  for (std::size_t i = 0; i < time.steps_s.size(); ++i) {
    table.rows.push_back({count(static_cast<std::int64_t>(i) + 1 + time.warmup), quantity(time.steps_s[i], "s")});
  }
  return figure({"steps",
                 "Time of each step.",
                 fmt::format("The slowest rank of each, without a profiler, after {} steps to warm up.", time.warmup),
                 table,
                 {{"y_title", "step time"}, {"y_unit", "s"}}});
}

std::string measured_memory_section(const MeasuredRun& run) {
  const std::vector<std::string> names = categories(run.memory);
  if (names.empty()) return "";
  std::string out = memory_chart(run.memory, names) + memory_table(run.memory, names);
  if (run.memory.reserved_bytes > 0) {
    out += paragraph_of("The driver gave the pool " + human(static_cast<double>(run.memory.reserved_bytes), "B") +
                        " at most, rounding and fragments included.");
  }
  if (run.backend == "cpu") {
    out += paragraph_of(
        "The CPU computes in double; its tensors are counted in the widths of a GPU's types, so that they can be held "
        "against the ledger. Workspace of a GPU's libraries is not among them.");
  }
  return out;
}

std::string cards_section(const MeasuredRun& run) {
  Table table{"Each rank's card while steps were timed",
              {{"rank", "Rank", true},
               {"gpu", "GPU"},
               {"sm", "SM clock", true},
               {"low", "Lowest", true},
               {"memory", "Memory clock", true},
               {"power", "Power", true},
               {"celsius", "Degrees Celsius", true},
               {"slowed", "Slowed by"}},
              {}};
  for (std::size_t rank = 0; rank < run.cards.size(); ++rank) {
    const MeasuredCard& card = run.cards[rank];
    const auto mhz = [](double hertz) {
      return hertz > 0 ? Cell{fmt::format("{:.0f} MHz", hertz / 1e6), hertz, {}} : none();
    };
    table.rows.push_back({count(static_cast<std::int64_t>(rank)), text(card.gpu), mhz(card.sm_clock_hz),
                          mhz(card.lowest_sm_clock_hz), mhz(card.memory_clock_hz),
                          card.power_w > 0 ? quantity(card.power_w, "W") : none(),
                          card.celsius > 0 ? count(card.celsius) : none(), text(slowed(card))});
  }
  if (table.rows.empty()) return "";
  return html_of(table, true) + (run.driver.empty() ? "" : paragraph_of("Driver " + run.driver + '.'));
}

}  // namespace reports::html
