// SPDX-License-Identifier: Apache-2.0
#include "cli/measured_run.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/fault.h"
#include "core/base/text.h"
#include "core/plan/plan.h"

namespace cli {
namespace {

using Json = nlohmann::ordered_json;
using ByCategory = std::vector<std::pair<std::string, std::int64_t>>;

ByCategory by_category(const Json& map) {
  ByCategory out;
  for (const auto& [name, bytes] : map.items()) out.emplace_back(name, bytes.get<std::int64_t>());
  return out;
}

ByCategory by_category(const real::Ledger::ByCategory& bytes) {
  ByCategory out;
  for (std::size_t i = 0; i < bytes.size(); ++i) out.emplace_back(plan::kCategoryNames[i], bytes[i]);
  return out;
}

result::MeasuredTime time_of(const Json& in) {
  return {in.at("steps_s").get<std::vector<double>>(),
          in.at("step_time_s").get<double>(),
          in.at("step_time_low_s").get<double>(),
          in.at("step_time_high_s").get<double>(),
          in.at("warmup").get<int>(),
          in.at("tokens_per_s").get<double>(),
          in.at("model_tflops_per_gpu").get<double>(),
          in.at("mfu").get<double>(),
          in.at("shares_cards").get<bool>()};
}

result::MeasuredCard card_of(const Json& in) {
  // Null where the driver does not tell it: of a slice of a card, say.
  const auto told = [&](const char* key) { return in.at(key).is_null() ? 0 : in.at(key).get<double>(); };
  return {in.at("gpu").get<std::string>(),
          told("sm_clock_hz"),
          told("memory_clock_hz"),
          told("power_w"),
          static_cast<int>(told("celsius")),
          in.at("slowed_by").get<std::vector<std::string>>(),
          told("sm_clock_low_hz")};
}

result::MeasuredRun read(const Json& in) {
  result::MeasuredRun out;
  out.job = in.at("job").get<std::string>();
  out.backend = "gpu";
  out.ranks = in.at("gpus").get<int>();
  for (const Json& loss : in.at("losses")) out.losses.push_back(loss.is_null() ? NAN : loss.get<double>());
  for (const Json& norm : in.at("gradient_norms")) {
    out.gradient_norms.push_back(norm.is_null() ? std::nullopt : std::optional(norm.get<double>()));
  }
  out.time = time_of(in);
  const Json& memory = in.at("memory");
  out.memory = {memory.at("rank").get<int>(), by_category(memory.at("measured")), by_category(memory.at("planned")),
                memory.at("reserved_bytes").get<std::int64_t>()};
  for (const Json& card : in.at("conditions")) out.cards.push_back(card_of(card));
  out.driver = in.at("driver").get<std::string>();
  for (const Json& why : in.at("plain_attention")) {
    out.notes.push_back("attention was computed by the plain kernel, whose time says nothing of a real run: " +
                        why.get<std::string>());
  }
  for (const Json& why : in.value("experts_one_by_one", Json::array())) {
    out.notes.push_back("experts were multiplied one by one: " + why.get<std::string>());
  }
  if (out.time->shares_cards) out.notes.push_back("ranks share a card: no time here means anything");
  return out;
}

}  // namespace

result::MeasuredRun run_on_gpus(const std::string& json) {
  try {
    return read(Json::parse(json));
  } catch (const nlohmann::json::exception& error) {
    throw base::DeviceError(std::string("the workers left no result that can be read: ") + error.what());
  }
}

result::MeasuredRun run_on_cpu(const result::TrainingRun& run, const real::MemoryUse& memory) {
  result::MeasuredRun out;
  out.job = fmt::format("{} on {} rank{} of the CPU, in double: {} parameters, {} tokens", run.model, run.ranks,
                        run.ranks == 1 ? "" : "s", base::with_commas(run.parameters), run.tokens);
  out.backend = run.backend;
  out.ranks = run.ranks;
  for (const result::TrainedStep& step : run.steps) {
    out.losses.push_back(step.loss);
    out.gradient_norms.push_back(step.gradient_norm);
  }
  out.memory = {memory.rank, by_category(memory.measured), by_category(memory.planned), memory.reserved};
  out.notes.push_back(
      "arithmetic alone: the run shows that the Plan's operators compute what they should, not how fast");
  return out;
}

}  // namespace cli
