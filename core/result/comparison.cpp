// SPDX-License-Identifier: Apache-2.0
#include "core/result/comparison.h"

#include <algorithm>

namespace result {
namespace {

using Status = ComparisonRow::Status;

/// Seconds of a step, or GPU-seconds of a token.
double cost(const Comparison& c, const Prediction& p) {
  return c.order == Comparison::Order::step_time ? pace_s(p) : 1 / p.tokens_per_s_per_gpu;
}

/// One that stands for all in what its time is of; the first that trains or fills a cache where there is one.
const Prediction& typical(const Comparison& c) {
  const auto steps = [](const ComparisonRow& row) {
    return row.status != Status::refused && !row.prediction.time_per_output_token_s;
  };
  const auto ran = [](const ComparisonRow& row) { return row.status != Status::refused; };
  static const Prediction none;
  auto found = std::find_if(c.rows.begin(), c.rows.end(), steps);
  if (found == c.rows.end()) found = std::find_if(c.rows.begin(), c.rows.end(), ran);
  return found == c.rows.end() ? none : found->prediction;
}

}  // namespace

std::string counted(const Comparison& c) {
  std::string out;
  for (const ComparisonRow& row : c.rows) {
    if (row.status == Status::refused) continue;
    const std::string own = counted(row.prediction);
    if (!out.empty() && own != out) return "items";
    out = own;
  }
  return out.empty() ? "tokens" : out;
}

std::string pace_name(const Comparison& c) { return pace_name(typical(c)); }
std::string pace_key(const Comparison& c) { return pace_key(typical(c)); }

bool gpus_differ(const Comparison& c) {
  int known = 0;
  for (const ComparisonRow& row : c.rows) {
    if (row.status == Status::refused) continue;
    if (known != 0 && row.prediction.gpus != known) return true;
    known = row.prediction.gpus;
  }
  return false;
}

double exposed_s(const Prediction& p) {
  double sum = 0;
  for (const auto& [name, seconds] : p.breakdown_s) {
    if (name.starts_with("exposed_")) sum += seconds;
  }
  return sum;
}

double slowdown(const Comparison& c, const ComparisonRow& row) {
  if (row.status == Status::refused) return 0;
  const bool any_fits =
      std::any_of(c.rows.begin(), c.rows.end(), [](const ComparisonRow& r) { return r.status == Status::fits; });
  double best = cost(c, row.prediction);
  bool found = false;
  for (const ComparisonRow& r : c.rows) {
    if (r.status != (any_fits ? Status::fits : Status::does_not_fit)) continue;
    best = found ? std::min(best, cost(c, r.prediction)) : cost(c, r.prediction);
    found = true;
  }
  return cost(c, row.prediction) / best;
}

std::vector<std::string> own_warnings(const Comparison& c, const ComparisonRow& row) {
  std::vector<std::string> out;
  for (const std::string& warning : row.prediction.warnings) {
    const bool shared = std::all_of(c.rows.begin(), c.rows.end(), [&](const ComparisonRow& r) {
      const std::vector<std::string>& all = r.prediction.warnings;
      return r.status == Status::refused || std::find(all.begin(), all.end(), warning) != all.end();
    });
    if (!shared) out.push_back(warning);
  }
  return out;
}

}  // namespace result
