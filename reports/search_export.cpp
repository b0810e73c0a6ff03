// reports/search_export.cpp -- the answer of a search for programs and spreadsheets.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "reports/csv.h"
#include "reports/json.h"
#include "reports/json_object.h"
#include "reports/search.h"
#include "reports/shortfall.h"

namespace reports {
namespace {

using result::Search;
using result::SearchRow;

Json row_json(const SearchRow& row) {
  const result::Prediction& p = row.prediction;
  Json out{{"strategy", strategy_json(row.strategy)},
           {"step_time_s", p.step_time_s},
           {"step_time_low_s", p.step_time_low_s},
           {"step_time_high_s", p.step_time_high_s},
           {"two_level_s", row.two_level_s},
           {"tied", row.tied},
           {"tokens_per_s", p.tokens_per_s},
           {"tokens_per_s_per_gpu", p.tokens_per_s_per_gpu},
           {"mfu", p.mfu},
           {"bubble_fraction", p.bubble_fraction},
           {"breakdown_s", object_of(p.breakdown_s)},
           {"fits", p.fits},
           {"tight", row.tight},
           {"memory", {{"peak_bytes", p.peak_bytes}, {"capacity_bytes", p.capacity_bytes}}}};
  if (p.time_per_output_token_s) out["time_per_output_token_s"] = *p.time_per_output_token_s;
  if (row.cost_per_million_tokens > 0) {
    out["cost_per_million_tokens"] = row.cost_per_million_tokens;
    out["tokens_per_dollar"] = 1e6 / row.cost_per_million_tokens;
  }
  if (row.energy_per_step_j > 0) out["energy_per_step_j"] = row.energy_per_step_j;
  out["warnings"] = p.warnings;
  return out;
}

/// What does not fit; how long it would take is of no interest.
Json nearest_json(const Search& s) {
  const SearchRow& row = *s.nearest;
  const result::Prediction& p = row.prediction;
  const auto [needed, there] = shortfall_of(p);
  return {{"strategy", strategy_json(row.strategy)},
          {"memory", {{"peak_bytes", p.peak_bytes}, {"capacity_bytes", p.capacity_bytes}}},
          {"short_bytes", needed - there},
          {"attack", p.attack},
          {"mends", p.mends},
          {"mend_step_times_s", p.mend_step_times_s},
          {"nodes_that_fit", s.nodes_that_fit ? Json(*s.nodes_that_fit) : Json()}};
}

}  // namespace

std::string json(const Search& s) {
  Json out;
  out["schema"] = kSchema;
  out["job"] = s.job;
  out["by"] = s.by;
  out["complete"] = s.complete;
  out["strategies"] = s.strategies;
  out["evaluated"] = s.evaluated;
  out["fits"] = s.fits;
  out["priced"] = s.priced;
  out["bounded"] = s.bounded;
  out["unwanted"] = s.unwanted;
  out["operator_level"] = s.operator_level;
  out["elapsed_s"] = s.elapsed_s;
  out["strategies_per_s"] = static_cast<double>(s.evaluated) / std::max(s.elapsed_s, 1e-9);
  out["results"] = Json::array();
  for (const SearchRow& row : s.results) out["results"].push_back(row_json(row));
  out["nearest"] = s.nearest ? nearest_json(s) : Json();
  out["pareto"] = Json::array();
  for (const result::SearchTrade& t : s.pareto) {
    Json& trade =
        out["pareto"].emplace_back(Json{{"strategy", strategy_json(t.strategy)}, {"step_time_s", t.step_time_s}});
    trade[pace_key(s.results.front().prediction)] = t.pace_s;
    trade["memory"] = {{"peak_bytes", t.peak_bytes}};
  }
  out["space"] = Json::object();
  for (const result::SearchedKey& key : s.space) {
    out["space"][key.key] = {{"given", key.given}, {"strategies", object_of(key.values)}};
  }
  out["left_out"] = object_of(s.left_out);
  out["notes"] = s.notes;
  return text_of(out);
}

std::string csv(const Search& s) {
  const std::vector<std::string> keys = keys_of(s.results, &SearchRow::strategy);
  std::string out;
  for (const std::string& key : keys) out += cell(key) + ',';
  out +=
      "step_time_s,step_time_low_s,step_time_high_s,tied,tokens_per_s,mfu,bubble_fraction,peak_bytes,capacity_"
      "bytes,time_per_output_token_s";
  const bool priced =
      std::ranges::any_of(s.results, [](const SearchRow& row) { return row.cost_per_million_tokens > 0; });
  out += priced ? ",cost_per_million_tokens\r\n" : "\r\n";
  for (const SearchRow& row : s.results) {
    for (const std::string& key : keys) out += cell_of(row.strategy, key) + ',';
    const result::Prediction& p = row.prediction;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}", p.step_time_s, p.step_time_low_s, p.step_time_high_s, row.tied,
                       p.tokens_per_s, p.mfu, p.bubble_fraction, p.peak_bytes, p.capacity_bytes,
                       p.time_per_output_token_s ? fmt::format("{}", *p.time_per_output_token_s) : "");
    out += priced ? fmt::format(",{}\r\n", row.cost_per_million_tokens) : "\r\n";
  }
  return out;
}

}  // namespace reports
