// SPDX-License-Identifier: Apache-2.0
#include "sim/search/answer.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "sim/memory/tight.h"
#include "sim/mend_prices.h"
#include "sim/predict.h"
#include "sim/search/choices.h"
#include "sim/search/strategies.h"
#include "sim/search/ties.h"
#include "sim/search/usual_values.h"

namespace sim {
namespace {

using spec::SearchKey;
using spec::SearchPoint;

/// One of the best, with every operator of every microbatch.
struct Finalist {
  SearchPoint point;
  double two_level_s = 0;
  Outline step;
};

/// Best first; those that do not fit after all are left out.
std::vector<Finalist> at_operator_level(const SearchQuestion& q, const std::vector<Standing>& best) {
  std::vector<Finalist> out(best.size());
  base::parallel_for(
      best.size(),
      [&](std::size_t i) {
        JobMaker jobs(q.base, q.space);
        out[i] = {best[i].point, best[i].time, outline(jobs.job_of(best[i].point))};
      },
      q.threads);
  std::erase_if(out, [](const Finalist& one) { return !one.step.fits; });
  std::stable_sort(out.begin(), out.end(), [&](const Finalist& a, const Finalist& b) {
    if (q.options.by == Objective::memory && a.step.peak_bytes != b.step.peak_bytes) {
      return a.step.peak_bytes < b.step.peak_bytes;
    }
    return a.step.pace_s < b.step.pace_s;
  });
  return out;
}

/// The first of them in full. Predictions that fill much memory with their spans are made one at a time.
std::vector<result::SearchRow> rows_of(const SearchQuestion& q, const std::vector<Finalist>& best) {
  constexpr std::int64_t kManySpans = 2'000'000;  // 100 MB
  std::vector<result::SearchRow> rows(std::min(best.size(), static_cast<std::size_t>(q.options.top)));
  std::mutex large;
  base::parallel_for(
      rows.size(),
      [&](std::size_t i) {
        std::unique_lock alone(large, std::defer_lock);
        if (best[i].step.spans > kManySpans) alone.lock();
        rows[i].strategy = choices_of(q.base, best[i].point);
        rows[i].two_level_s = best[i].two_level_s;
        JobMaker jobs(q.base, q.space);
        rows[i].prediction = predict(jobs.job_of(best[i].point), Detail::chains).prediction;
      },
      q.threads);
  return rows;
}

/// Of all nodes.
base::Watts rated_power(const spec::Cluster& cluster) {
  if (!cluster.mixed()) return cluster.node.power * cluster.nodes;
  base::Watts sum;
  for (const spec::NodeGroup& group : cluster.groups) sum = sum + group.node.power * group.nodes;
  return sum;
}

void account(const SearchQuestion& q, result::SearchRow& row) {
  const result::Prediction& p = row.prediction;
  row.tight = is_tight(p.peak_bytes, p.capacity_bytes);
  constexpr double kHour = 3600, kMillion = 1e6;
  if (q.options.gpu_hour)
    row.cost_per_million_tokens = *q.options.gpu_hour / kHour * p.gpus / p.tokens_per_s * kMillion;
  row.energy_per_step_j = rated_power(q.base.cluster).si() * pace_s(p);
}

/// Time against memory: none of these takes less of both. Fastest first.
std::vector<Finalist> front_among(std::vector<Finalist> found) {
  std::sort(found.begin(), found.end(), [](const Finalist& a, const Finalist& b) {
    return std::tie(a.step.pace_s, a.step.peak_bytes) < std::tie(b.step.pace_s, b.step.peak_bytes);
  });
  std::vector<Finalist> out;
  for (Finalist& one : found) {
    if (out.empty() || one.step.peak_bytes < out.back().step.peak_bytes) out.push_back(std::move(one));
  }
  return out;
}

/// The front of all that were found, at operator level: what two levels put on it is worked out, too.
std::vector<result::SearchTrade> front_of(const SearchQuestion& q, std::vector<Finalist> found,
                                          const std::vector<Standing>& two_levels) {
  std::set<result::Choices> known;
  for (const Finalist& one : found) known.insert(choices_of(q.base, one.point));
  std::vector<Finalist> mixed = found;
  for (const Standing& one : two_levels) {
    if (known.contains(choices_of(q.base, one.point))) continue;
    Finalist& more = mixed.emplace_back(Finalist{one.point, one.time, {}});
    more.step.pace_s = one.time;
    more.step.peak_bytes = one.bytes;
  }
  std::vector<Standing> unpriced;
  for (const Finalist& one : front_among(std::move(mixed))) {
    if (!known.contains(choices_of(q.base, one.point)))
      unpriced.push_back({one.two_level_s, one.step.peak_bytes, one.point});
  }
  for (Finalist& one : at_operator_level(q, unpriced)) found.push_back(std::move(one));
  std::vector<result::SearchTrade> out;
  for (const Finalist& one : front_among(std::move(found))) {
    out.push_back({choices_of(q.base, one.point), one.step.step_time_s, one.step.pace_s, one.step.peak_bytes});
  }
  return out;
}

/// What does not fit, in full: its prediction says what would mend that.
result::SearchRow row_of(const SearchQuestion& q, const Standing& one) {
  JobMaker jobs(q.base, q.space);
  result::SearchRow row;
  row.strategy = choices_of(q.base, one.point);
  const spec::Job job = jobs.job_of(one.point);
  row.prediction = predict(job, Detail::chains).prediction;
  price_mends(job, row.prediction);
  return row;
}

void tell_space(const SearchQuestion& q, const ValueCounts& tried, result::Search& out) {
  for (int k = 0; k < spec::kSearchKeys; ++k) {
    const auto key = static_cast<SearchKey>(k);
    result::SearchedKey& told = out.space.emplace_back();
    told.key = spec::name(key);
    told.given = q.space[key].has_value();
    for (const auto& [value, count] : tried[k]) told.values.emplace_back(spec::value_text(key, value), count);
  }
  out.left_out = left_out(q.base, q.space);
}

}  // namespace

void answer(const SearchQuestion& q, const Leaders& leaders, const std::optional<Standing>& nearest,
            const ValueCounts& tried, result::Search& out) {
  const std::vector<Finalist> best = at_operator_level(q, leaders.best());
  out.pareto = front_of(q, best, leaders.front());
  std::vector<result::SearchRow> rows = rows_of(q, best);
  for (result::SearchRow& row : rows) {
    account(q, row);
    row.tied = &row != &rows.front() && tied(rows.front().prediction, row.prediction);
  }
  out.results = std::move(rows);
  if (out.results.empty() && nearest) out.nearest = row_of(q, *nearest);
  out.job = q.base.model.name + " on " + spec::nodes_text(q.base.cluster);
  tell_space(q, tried, out);
}

}  // namespace sim
