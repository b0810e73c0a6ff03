// reports/comparison_export.cpp -- the comparison for programs and spreadsheets.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <vector>

#include "reports/comparison.h"
#include "reports/csv.h"
#include "reports/json.h"
#include "reports/json_object.h"

namespace reports {
namespace {

using result::Comparison;
using result::ComparisonRow;
using result::Prediction;
using Status = ComparisonRow::Status;

Json row_json(const Comparison& c, const ComparisonRow& row) {
  Json out{{"status", result::name(row.status)}, {"job", row.job}, {"varied", object_of(row.varied)}};
  if (row.status == Status::refused) {
    out["refusal"] = row.refusal;
    return out;
  }
  const Prediction& p = row.prediction;
  out["title"] = p.job;
  out["gpus"] = p.gpus;
  out["step_time_s"] = p.step_time_s;
  out["step_time_low_s"] = p.step_time_low_s;
  out["step_time_high_s"] = p.step_time_high_s;
  if (p.time_per_output_token_s) out["time_per_output_token_s"] = *p.time_per_output_token_s;
  out["tokens_per_s"] = p.tokens_per_s;
  out["tokens_per_s_per_gpu"] = p.tokens_per_s_per_gpu;
  out["mfu"] = p.mfu;
  out["hfu"] = p.hfu;
  out["bubble_fraction"] = p.bubble_fraction;
  out["breakdown_s"] = object_of(p.breakdown_s);
  out["exposed_s"] = result::exposed_s(p);
  out["slowdown"] = result::slowdown(c, row);
  out["fits"] = p.fits;
  out["peak_bytes"] = p.peak_bytes;
  out["capacity_bytes"] = p.capacity_bytes;
  if (!p.fits) {
    out["attack"] = p.attack;
    out["mends"] = p.mends;
  }
  out["warnings"] = p.warnings;
  return out;
}

}  // namespace

std::string json(const Comparison& c) {
  Json out;
  out["schema"] = kSchema;
  out["order"] = c.order == Comparison::Order::step_time ? result::pace_key(c) : "tokens_per_s_per_gpu";
  out["rows"] = Json::array();
  for (const ComparisonRow& row : c.rows) out["rows"].push_back(row_json(c, row));
  return text_of(out);
}

std::string csv(const Comparison& c) {
  const std::vector<std::string> paths = keys_of(c.rows, &ComparisonRow::varied);
  std::string out = "status,job";
  for (const std::string& path : paths) out += ',' + cell(path);
  out +=
      ",gpus,step_time_s,tokens_per_s,tokens_per_s_per_gpu,mfu,bubble_fraction,peak_bytes,capacity_bytes,reason,"
      "exposed_s,slowdown,time_per_output_token_s\r\n";
  for (const ComparisonRow& row : c.rows) {
    out += std::string(result::name(row.status)) + ',' + cell(row.job);
    for (const std::string& path : paths) out += ',' + cell_of(row.varied, path);
    const Prediction& p = row.prediction;
    if (row.status == Status::refused) {
      out += ",,,,,,,,," + cell(row.refusal) + ",,,";
    } else {
      out += fmt::format(",{},{},{},{},{},{},{},{},{},{},{}", p.gpus, p.step_time_s, p.tokens_per_s,
                         p.tokens_per_s_per_gpu, p.mfu, p.bubble_fraction, p.peak_bytes, p.capacity_bytes,
                         cell(p.attack), result::exposed_s(p), result::slowdown(c, row));
      out += ',' + (p.time_per_output_token_s ? fmt::format("{}", *p.time_per_output_token_s) : "");
    }
    out += "\r\n";
  }
  return out;
}

}  // namespace reports
