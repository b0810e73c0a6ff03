// SPDX-License-Identifier: Apache-2.0
#include "real/measure/measurement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/text.h"

namespace real {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t total(const Ledger::ByCategory& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

std::string human(std::int64_t bytes) { return base::human(base::Bytes(static_cast<double>(bytes))); }

Json by_category(const Ledger::ByCategory& bytes) {
  Json out = Json::object();
  for (std::size_t i = 0; i < bytes.size(); ++i) out[std::string(plan::kCategoryNames[i])] = bytes[i];
  return out;
}

Json json_of(const MemoryUse& memory) {
  return {{"rank", memory.rank},
          {"peak_bytes", total(memory.measured)},
          {"planned_bytes", total(memory.planned)},
          {"reserved_bytes", memory.reserved},
          {"beside",
           {{"at_start_bytes", memory.beside.at_start},
            {"communicators_bytes", memory.beside.communicators},
            {"first_step_bytes", memory.beside.first_step}}},
          {"measured", by_category(memory.measured)},
          {"planned", by_category(memory.planned)}};
}

Json json_of(const Condition& c) {
  const auto told = [](auto figure) { return figure > 0 ? Json(figure) : Json(); };
  return {{"gpu", c.gpu},
          {"sm_clock_hz", told(c.sm_clock.si())},
          {"sm_clock_low_hz", told(c.lowest_sm_clock.si())},
          {"memory_clock_hz", told(c.memory_clock.si())},
          {"power_w", told(c.power.si())},
          {"celsius", told(c.celsius)},
          {"slowed_by", c.slowed_by},
          {"readings", c.readings}};
}

/// Those that were told; 0: none was.
template <class Figure>
std::vector<Figure> told(const std::vector<Condition>& readings, Figure Condition::*figure) {
  std::vector<Figure> out;
  for (const Condition& one : readings) {
    if (one.*figure > Figure{}) out.push_back(one.*figure);
  }
  std::ranges::sort(out);
  return out;
}
template <class Figure>
Figure median(const std::vector<Figure>& sorted) {
  return sorted.empty() ? Figure{} : sorted[sorted.size() / 2];
}

}  // namespace

Condition summary_of(const std::vector<Condition>& readings) {
  Condition out = readings.back();
  const std::vector<base::Hertz> clocks = told(readings, &Condition::sm_clock);
  const std::vector<base::Watts> powers = told(readings, &Condition::power);
  const std::vector<int> warmths = told(readings, &Condition::celsius);
  out.sm_clock = median(clocks);
  out.lowest_sm_clock = clocks.empty() ? base::Hertz{} : clocks.front();
  out.memory_clock = median(told(readings, &Condition::memory_clock));
  base::Watts sum;
  for (const base::Watts power : powers) sum = sum + power;
  out.power = powers.empty() ? base::Watts{} : sum * (1.0 / static_cast<double>(powers.size()));
  out.celsius = warmths.empty() ? 0 : warmths.back();
  out.slowed_by.clear();
  for (const Condition& one : readings) {
    for (const std::string& why : one.slowed_by) {
      if (std::ranges::find(out.slowed_by, why) == out.slowed_by.end()) out.slowed_by.push_back(why);
    }
  }
  out.readings = static_cast<int>(readings.size());
  return out;
}

std::string to_string(const Condition& c) {
  const auto told = [](auto figure) { return figure.si() > 0 ? base::human(figure) : "unknown"; };
  const std::string warmth = c.celsius > 0 ? fmt::format("{} degrees Celsius", c.celsius) : "temperature unknown";
  const bool varied = c.lowest_sm_clock.si() > 0 && c.lowest_sm_clock < c.sm_clock;
  std::string out = fmt::format("{}, SMs {}{}, memory {}, power {}, {}", c.gpu, told(c.sm_clock),
                                varied ? fmt::format(" (lowest {})", base::human(c.lowest_sm_clock)) : "",
                                told(c.memory_clock), told(c.power), warmth);
  if (!c.slowed_by.empty()) out += fmt::format(", slowed by {}", fmt::join(c.slowed_by, ", "));
  return out;
}

std::string text(const Measurement& m) {
  std::string out = fmt::format("job         {}\n", m.job);
  if (m.shares_cards) out += "            ranks share a card: no time below means anything\n";
  out += fmt::format("step        {} (80 % of steps from {} to {}; {} steps after {} to warm up)\n",
                     base::human(m.time.median), base::human(m.time.low), base::human(m.time.high), m.steps.size(),
                     m.warmup);
  out +=
      fmt::format("throughput  {:.0f} tokens/s, {:.0f} a GPU\n", m.tokens_per_second(), m.tokens_per_second() / m.gpus);
  if (m.peak.si() > 0) {
    out += fmt::format("MFU         {:.1f} %, {:.1f} TFLOP/s a GPU\n", 100 * m.mfu(),
                       m.model_flops_per_second_per_gpu() / 1e12);
  }
  out += "loss       ";
  for (const double loss : m.losses) out += fmt::format(" {:.4f}", loss);
  out += fmt::format("\nmemory      {}\n  planned   {}\n  reserved  {} (rank {})\n", to_string(m.memory.measured),
                     to_string(m.memory.planned), human(m.memory.reserved), m.memory.rank);
  const MemoryBeside& beside = m.memory.beside;
  if (beside.at_start > 0) {
    out +=
        fmt::format("  beside    {} on the card at the start, {} of communicators and streams, {} of the first step\n",
                    human(beside.at_start), human(beside.communicators), human(beside.first_step));
  }
  for (std::size_t rank = 0; rank < m.conditions.size(); ++rank) {
    out += fmt::format("GPU         rank {}: {}\n", rank, to_string(m.conditions[rank]));
  }
  for (const std::string& why : m.plain_attention) out += fmt::format("attention   by the plain kernel: {}\n", why);
  for (const std::string& why : m.experts_one_by_one) out += fmt::format("experts     one matmul each: {}\n", why);
  return out;
}

std::string json(const Measurement& m) {
  Json steps = Json::array(), conditions = Json::array();
  for (const base::Seconds step : m.steps) steps.push_back(step.si());
  for (const Condition& c : m.conditions) conditions.push_back(json_of(c));
  const Json out = {{"schema", 1},
                    {"job", m.job},
                    {"gpus", m.gpus},
                    {"step_time_s", m.time.median.si()},
                    {"step_time_low_s", m.time.low.si()},
                    {"step_time_high_s", m.time.high.si()},
                    {"steps_s", steps},
                    {"warmup", m.warmup},
                    {"tokens_per_s", m.tokens_per_second()},
                    {"tokens_per_s_per_gpu", m.tokens_per_second() / m.gpus},
                    {"model_tflops_per_gpu", m.model_flops_per_second_per_gpu() / 1e12},
                    {"mfu", m.mfu()},
                    {"tokens", m.text},
                    {"losses", m.losses},
                    {"gradient_norms", m.gradient_norms},
                    {"memory", json_of(m.memory)},
                    {"driver", m.driver},
                    {"conditions", conditions},
                    {"plain_attention", m.plain_attention},
                    {"experts_one_by_one", m.experts_one_by_one},
                    {"shares_cards", m.shares_cards}};
  return out.dump(2) + "\n";
}

}  // namespace real
