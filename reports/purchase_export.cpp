// reports/purchase_export.cpp -- the answer of a plan for programs and spreadsheets.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/base/money.h"
#include "reports/csv.h"
#include "reports/json.h"
#include "reports/json_object.h"
#include "reports/purchase.h"
#include "reports/shortfall.h"

namespace reports {
namespace {

using result::Flip;
using result::Goodput;
using result::Purchase;
using result::PurchaseRow;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json goodput_json(const Goodput& g) {
  return {{"goodput", g.goodput},
          {"closed_form", or_null(g.closed_form)},
          {"simulated", g.simulated},
          {"standard_error", g.error},
          {"mtbf_s", g.mtbf_s},
          {"failures", g.failures},
          {"lost", g.lost},
          {"down", g.down},
          {"checkpoints", g.checkpoints},
          {"stragglers", g.slow},
          {"checkpoint_bytes", g.checkpoint_bytes},
          {"checkpoint_s", g.checkpoint_s},
          {"written_beside_s", g.written_beside_s},
          {"interval_s", g.interval_s},
          {"interval_steps", g.interval_steps},
          {"best_interval_s", g.best_interval_s},
          {"restart_s", g.restart_s}};
}

Json nearest_json(const PurchaseRow& row) {
  const auto [needed, there] = shortfall_of(row.prediction);
  return {{"strategy", strategy_json(row.strategy)},
          {"short_bytes", needed - there},
          {"mends", row.prediction.mends},
          {"given", row.given}};
}

Json row_json(const PurchaseRow& row) {
  Json out{{"candidate", row.candidate},
           {"terms", row.bought ? "buy" : "rent"},
           {"nodes", row.nodes},
           {"gpus", row.gpus},
           {"looked_at", row.looked_at},
           {"fits", row.fits},
           {"refused", row.refused.empty() ? Json() : Json(row.refused)}};
  if (row.has_nearest()) out["nearest"] = nearest_json(row);
  if (!row.known()) return out;
  const result::Prediction& p = row.prediction;
  out.update({{"spares", row.spares},
              {"strategy", strategy_json(row.strategy)},
              {"step_time_s", p.step_time_s},
              {"step_time_low_s", p.step_time_low_s},
              {"step_time_high_s", p.step_time_high_s},
              {"tokens_per_s", p.tokens_per_s},
              {"mfu", p.mfu},
              {"time_s", row.time_s},
              {"time_low_s", row.time_low_s},
              {"time_high_s", row.time_high_s},
              {"cost_usd", row.cost},
              {"cost_low_usd", row.cost_low},
              {"cost_high_usd", row.cost_high},
              {"outlay_usd", row.outlay > 0 ? Json(row.outlay) : Json()},
              {"energy_j", row.energy_j > 0 ? Json(row.energy_j) : Json()},
              {"tokens_per_dollar", row.tokens_per_dollar},
              {"chance_in_time", or_null(row.chance_in_time)},
              {"in_time", row.in_time},
              {"in_budget", row.in_budget},
              {"in_outlay", row.in_outlay},
              {"tight", row.tight},
              {"on_front", row.on_front},
              {"price_of", row.price_of},
              {"price_usd", row.price},
              {"failures", goodput_json(row.goodput)},
              {"warnings", p.warnings}});
  return out;
}

const char* name_of(Flip::Kind kind) {
  switch (kind) {
    case Flip::Kind::rent: return "rent";
    case Flip::Kind::price: return "price";
    case Flip::Kind::deadline: return "deadline";
    case Flip::Kind::outlay: return "outlay";
    case Flip::Kind::budget: break;
  }
  return "budget";
}

Json flip_json(const Flip& f) {
  return {{"figure", name_of(f.kind)},
          {"of", f.of.empty() ? Json() : Json(f.of)},
          {"side", f.below ? "below" : "above"},
          {"value", f.value},
          {"now", f.now > 0 ? Json(f.now) : Json()},
          {"winner", f.winner.empty() ? Json() : Json(f.winner)}};
}

Json name_or_null(const Purchase& p, const std::optional<std::size_t>& row) {
  return row ? Json(p.rows[*row].candidate) : Json();
}

}  // namespace

std::string json(const Purchase& p) {
  Json out{{"schema", kSchema},
           {"model", p.model},
           {"tokens", p.tokens},
           {"deadline_s", or_null(p.deadline_s)},
           {"budget_usd", or_null(p.budget)},
           {"outlay_limit_usd", or_null(p.outlay)},
           {"by", p.by},
           {"complete", p.complete},
           {"recommended", name_or_null(p, p.recommended)},
           {"runner_up", name_or_null(p, p.runner_up)},
           {"recommendation", recommendation(p)}};
  for (const char* list : {"candidates", "flips", "break_even", "figures"}) out[list] = Json::array();
  for (const PurchaseRow& row : p.rows) out["candidates"].push_back(row_json(row));
  for (const Flip& flip : p.flips) out["flips"].push_back(flip_json(flip));
  if (p.spine) {
    out["halved_uplinks"] = {{"oversubscription", p.spine->oversubscription},
                             {"slower", p.spine->slower},
                             {"winner", p.spine->winner.empty() ? Json() : Json(p.spine->winner)}};
  }
  for (const result::BreakEven& b : p.break_even) {
    out["break_even"].push_back({{"of", b.of},
                                 {"rent_usd_per_gpu_hour", b.rent},
                                 {"price_usd", b.price},
                                 {"hours", b.hours > 0 ? Json(b.hours) : Json()},
                                 {"life_hours", b.life_hours}});
  }
  for (const result::PurchaseFigure& f : p.figures) {
    out["figures"].push_back({{"what", f.what}, {"value", f.value}, {"date", f.date}, {"source", f.source}});
  }
  out["assumptions"] = p.assumptions;
  out["notes"] = p.notes;
  out["runs"] = p.runs;
  out["seed"] = p.seed;
  return text_of(out);
}

std::string csv(const Purchase& p) {
  const std::vector<std::string> keys = keys_of(p.rows, &PurchaseRow::strategy);
  std::string out =
      "candidate,terms,nodes,spares,gpus,days,days_low,days_high,cost_usd,cost_low_usd,cost_high_usd,energy_kwh,"
      "tokens_per_dollar,goodput,in_time,in_budget,on_front,recommended,step_time_s,mfu";
  for (const std::string& key : keys) out += ',' + cell(key);
  out += "\r\n";
  for (std::size_t i = 0; i < p.rows.size(); ++i) {
    const PurchaseRow& row = p.rows[i];
    out +=
        cell(row.candidate) + fmt::format(",{},{},{},{}", row.bought ? "buy" : "rent", row.nodes, row.spares, row.gpus);
    if (row.known()) {
      out +=
          fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", row.time_s / base::kDay,
                      row.time_low_s / base::kDay, row.time_high_s / base::kDay, row.cost, row.cost_low, row.cost_high,
                      row.energy_j / base::kKilowattHour, row.tokens_per_dollar, row.goodput.goodput, row.in_time,
                      row.in_budget, row.on_front, p.recommended == i, row.prediction.step_time_s, row.prediction.mfu);
    } else {
      out += std::string(15, ',');
    }
    for (const std::string& key : keys) out += ',' + cell_of(row.strategy, key);
    out += "\r\n";
  }
  return out;
}

}  // namespace reports
