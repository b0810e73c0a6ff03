// SPDX-License-Identifier: Apache-2.0
#include "sim/search/search.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "core/base/fault.h"
#include "core/base/parallel.h"
#include "core/plan/build.h"
#include "sim/memory/footprint.h"
#include "sim/predict.h"
#include "sim/search/findings.h"
#include "sim/search/leaders.h"
#include "sim/search/strategies.h"
#include "sim/search/ties.h"
#include "sim/search/two_level.h"
#include "sim/search/usual_values.h"

namespace sim {
namespace {

using spec::SearchKey;
using spec::SearchPoint;

/// A strategy that fits, before it is priced.
struct Candidate {
  SearchPoint point;
  double least = 0;  // seconds: its step takes no less
  std::int64_t bytes = 0;
};

/// One of the best, with every operator of every microbatch.
struct Finalist {
  SearchPoint point;
  double two_level_s = 0;
  Outline step;
};

/// What one thread needs for itself.
struct Desk {
  Desk(const spec::Job& base, const spec::SearchSpace& space) : jobs(base, space), prices(base.cluster, base.network) {}
  JobMaker jobs;
  PriceList prices;
};

/// Of the operator level, for what two levels cannot tell.
std::int64_t peak_at_operator_level(const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  std::int64_t most = 0;
  for (const Footprint& stage : footprints(plan, job)) most = std::max(most, stage.total());
  return most;
}

class Searcher {
 public:
  Searcher(const spec::Job& base, const spec::SearchSpace& space, const SearchOptions& options)
      : base_(base),
        space_(space),
        options_(options),
        threads_(options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency())),
        leaders_(static_cast<std::size_t>(2 * options.top + 8), options.by == Objective::memory) {
    for (unsigned t = 0; t < threads_; ++t) desks_.push_back(std::make_unique<Desk>(base, space));
    capacity_ = static_cast<std::int64_t>(base.cluster.node.gpu.memory.si());
  }

  result::Search run() {
    const auto begin = std::chrono::steady_clock::now();
    filter();
    price();
    if (gathered()) answer();
    out_.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(out_);
  }

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }
  void tell(std::size_t done, std::size_t all);
  void filter();
  void look_at(const SearchPoint&, const spec::Job&, Desk&, std::vector<Candidate>& fitting);
  void price();
  std::optional<Standing> priced(const Candidate&, Desk&);
  Findings findings() const;
  bool gathered();
  void answer();
  std::vector<Finalist> at_operator_level(const std::vector<Standing>&);
  std::vector<result::SearchRow> rows_of(const std::vector<Finalist>&);
  std::vector<result::SearchTrade> front(const std::vector<Finalist>&) const;
  void account(result::SearchRow&) const;
  std::string stage_layers_of(const SearchPoint&) const;
  result::Choices choices_of(const SearchPoint&) const;
  void tell_space();
  [[noreturn]] void throw_why_none_is_sound();

  /// body(index, desk) for each index, once stopped for the first `at_least` alone; a desk for each thread at a time.
  template <class Body>
  void on_all_desks(std::size_t count, std::size_t at_least, Body body) {
    std::atomic<std::size_t> next{0};
    base::parallel_for(
        threads_,
        [&](std::size_t desk) {
          for (std::size_t i; (i = next++) < count && (i < at_least || !stopped());) body(i, *desks_[desk]);
        },
        threads_);
  }

  const spec::Job& base_;
  const spec::SearchSpace& space_;
  const SearchOptions& options_;
  const unsigned threads_;
  std::vector<std::unique_ptr<Desk>> desks_;
  Books books_;
  std::int64_t capacity_ = 0;
  std::vector<Candidate> candidates_;  // those that fit, least time first
  Leaders leaders_;
  std::mutex guard_;  // of what follows
  std::atomic<std::int64_t> strategies_{0}, operator_level_{0}, priced_{0}, bounded_{0}, too_large_{0};
  ValueCounts counts_;
  result::Search out_;
};

void Searcher::tell(std::size_t done, std::size_t all) {
  if (!options_.progress) return;
  const std::lock_guard lock(guard_);
  options_.progress(done, all);
}

void Searcher::look_at(const SearchPoint& point, const spec::Job& job, Desk& desk, std::vector<Candidate>& fitting) {
  Candidate one{point, 0, 0};
  if (has_two_levels(job)) {
    Draft draft(job, books_, desk.prices);
    const auto bytes = draft.peak_within(capacity_);
    if (!bytes) return;
    one.bytes = *bytes;
    one.least = draft.least_time();
  } else {
    one.bytes = peak_at_operator_level(job);
    if (one.bytes > capacity_) return;
  }
  fitting.push_back(one);
}

/// Memory first: whatever does not fit goes no further.
void Searcher::filter() {
  std::vector<SearchPoint> layers;
  int number = 0;
  each_layer_choice(base_, space_, [&](const SearchPoint& point) {
    if (number++ % options_.share.world == options_.share.rank) layers.push_back(point);
  });
  std::vector<std::vector<Candidate>> fitting(layers.size());
  std::atomic<std::size_t> done{0};
  on_all_desks(layers.size(), 0, [&](std::size_t i, Desk& desk) {
    ValueCounts counts;
    std::int64_t sound = 0;
    desk.jobs.each_with(layers[i], [&](const SearchPoint& point, const spec::Job& job) {
      if (stopped()) return;
      ++sound;
      for (int k = 0; k < spec::kSearchKeys; ++k) ++counts[k][point.values[k]];
      look_at(point, job, desk, fitting[i]);
    });
    strategies_ += sound;
    {
      const std::lock_guard lock(guard_);
      add(counts_, counts);
    }
    tell(++done, 2 * layers.size());
  });
  for (std::vector<Candidate>& some : fitting) {
    candidates_.insert(candidates_.end(), some.begin(), some.end());
    some = {};
  }
  const bool by_memory = options_.by == Objective::memory;
  std::stable_sort(candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
    if (by_memory && a.bytes != b.bytes) return a.bytes < b.bytes;
    return a.least < b.least;
  });
}

/// Nothing: it does not fit after all.
std::optional<Standing> Searcher::priced(const Candidate& one, Desk& desk) {
  const spec::Job& job = desk.jobs.job_of(one.point);
  if (has_two_levels(job)) {
    Draft draft(job, books_, desk.prices);
    if (draft.agrees()) return Standing{draft.step_time(), one.bytes, one.point};
  }
  ++operator_level_;
  const Outline step = outline(job);
  if (!step.fits) return {};
  return Standing{step.step_time_s, step.peak_bytes, one.point};
}

/// Best bound first, until no bound is below what the best take. A search that is stopped before still tells some: the
/// most promising of what is known to fit.
void Searcher::price() {
  std::atomic<std::size_t> done{0};
  on_all_desks(candidates_.size(), static_cast<std::size_t>(options_.top), [&](std::size_t i, Desk& desk) {
    const Candidate& one = candidates_[i];
    if (options_.bounds && leaders_.beaten({one.least, one.bytes, one.point})) {
      ++bounded_;
    } else if (const std::optional<Standing> standing = priced(one, desk)) {
      leaders_.add(*standing);
      ++priced_;
    } else {
      ++too_large_;
    }
    if (++done % 64 == 0) tell(candidates_.size() + done, 2 * candidates_.size());
  });
}

/// "[3, 4, 4, 2]"
std::string Searcher::stage_layers_of(const SearchPoint& point) const {
  spec::Job job = base_;
  for (const SearchKey key : {SearchKey::pp, SearchKey::schedule, SearchKey::vpp, SearchKey::stage_layers}) {
    spec::set_value(key, point[key], job);
  }
  return fmt::format("[{}]", fmt::join(job.strategy.stage_layers, ", "));
}

result::Choices Searcher::choices_of(const SearchPoint& point) const {
  result::Choices out;
  for (int k = 0; k < spec::kSearchKeys; ++k) {
    const auto key = static_cast<SearchKey>(k);
    const bool moot = (key == SearchKey::cp_kind && point[SearchKey::cp] == 1) ||
                      (key == SearchKey::overlap_tp && point[SearchKey::tp] == 1) ||
                      ((key == SearchKey::ep || key == SearchKey::etp) && !base_.model.moe) ||
                      (key == SearchKey::offload && point[key] == 0) || (key == SearchKey::shard && point[key] == 0) ||
                      (key == SearchKey::stage_layers && point[key] == spec::kEvenLayers) ||
                      (key == SearchKey::attention_kernel && base_.model.is_list());
    if (moot) continue;
    const bool listed = key == SearchKey::stage_layers;
    out.emplace_back(spec::name(key), listed ? stage_layers_of(point) : spec::value_text(key, point[key]));
  }
  return out;
}

/// Best first; those that do not fit after all are left out.
std::vector<Finalist> Searcher::at_operator_level(const std::vector<Standing>& best) {
  std::vector<Finalist> out(best.size());
  base::parallel_for(
      best.size(),
      [&](std::size_t i) {
        JobMaker jobs(base_, space_);
        out[i] = {best[i].point, best[i].time, outline(jobs.job_of(best[i].point))};
      },
      threads_);
  std::erase_if(out, [](const Finalist& one) { return !one.step.fits; });
  std::stable_sort(out.begin(), out.end(), [&](const Finalist& a, const Finalist& b) {
    if (options_.by == Objective::memory && a.step.peak_bytes != b.step.peak_bytes) {
      return a.step.peak_bytes < b.step.peak_bytes;
    }
    return a.step.step_time_s < b.step.step_time_s;
  });
  return out;
}

/// The first of them in full. Predictions that fill much memory with their spans are made one at a time.
std::vector<result::SearchRow> Searcher::rows_of(const std::vector<Finalist>& best) {
  constexpr std::int64_t kManySpans = 2'000'000;  // 100 MB
  std::vector<result::SearchRow> rows(std::min(best.size(), static_cast<std::size_t>(options_.top)));
  std::mutex large;
  base::parallel_for(
      rows.size(),
      [&](std::size_t i) {
        std::unique_lock alone(large, std::defer_lock);
        if (best[i].step.spans > kManySpans) alone.lock();
        rows[i].strategy = choices_of(best[i].point);
        rows[i].two_level_s = best[i].two_level_s;
        JobMaker jobs(base_, space_);
        rows[i].prediction = predict(jobs.job_of(best[i].point), Detail::chains).prediction;
      },
      threads_);
  return rows;
}

void Searcher::account(result::SearchRow& row) const {
  const result::Prediction& p = row.prediction;
  constexpr double kHour = 3600, kMillion = 1e6;
  if (options_.gpu_hour) row.cost_per_million_tokens = *options_.gpu_hour / kHour * p.gpus / p.tokens_per_s * kMillion;
  row.energy_per_step_j = base_.cluster.node.power.si() * base_.cluster.nodes * p.step_time_s;
}

void Searcher::tell_space() {
  for (int k = 0; k < spec::kSearchKeys; ++k) {
    const auto key = static_cast<SearchKey>(k);
    result::SearchedKey& told = out_.space.emplace_back();
    told.key = spec::name(key);
    told.given = space_[key].has_value();
    for (const auto& [value, count] : counts_[k]) told.values.emplace_back(spec::value_text(key, value), count);
  }
  out_.left_out = left_out(base_, space_);
}

Findings Searcher::findings() const {
  Findings out;
  out.strategies = strategies_;
  out.fits = static_cast<std::int64_t>(candidates_.size()) - too_large_;
  out.priced = priced_;
  out.bounded = bounded_;
  out.operator_level = operator_level_;
  out.complete = !stopped();
  out.values = counts_;
  out.standings = leaders_.best();
  const std::vector<Standing> front = leaders_.front();
  out.standings.insert(out.standings.end(), front.begin(), front.end());
  return out;
}

/// Whether this process makes the answer; it then knows what all have found.
bool Searcher::gathered() {
  std::vector<Findings> all{findings()};
  if (options_.share.world > 1) {
    const std::vector<std::string> told = options_.share.gather(encoded(all.front()));
    if (options_.share.rank != 0) return false;
    for (std::size_t rank = 1; rank < told.size(); ++rank) all.push_back(decoded(told[rank]));
  }
  counts_ = {};
  for (const Findings& one : all) {
    out_.strategies += one.strategies;
    out_.fits += one.fits;
    out_.priced += one.priced;
    out_.bounded += one.bounded;
    out_.operator_level += one.operator_level;
    out_.complete = out_.complete && one.complete;
    add(counts_, one.values);
    for (const Standing& standing : one.standings) leaders_.add(standing);
  }
  out_.evaluated = out_.strategies - out_.fits + out_.priced + out_.bounded;
  if (out_.strategies == 0 && out_.complete) throw_why_none_is_sound();
  return true;
}

/// Time against memory among all that were found, with the operator level's figures where they were worked out: the
/// best of the results is on it, whatever two levels say of it.
std::vector<result::SearchTrade> Searcher::front(const std::vector<Finalist>& best) const {
  std::vector<result::SearchTrade> found, out;
  std::set<result::Choices> known;
  for (const Finalist& one : best) {
    found.push_back({choices_of(one.point), one.step.step_time_s, one.step.peak_bytes});
    known.insert(found.back().strategy);
  }
  for (const Standing& one : leaders_.front()) {
    result::Choices strategy = choices_of(one.point);
    if (!known.contains(strategy)) found.push_back({std::move(strategy), one.time, one.bytes});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.step_time_s, a.peak_bytes) < std::tie(b.step_time_s, b.peak_bytes);
  });
  for (result::SearchTrade& trade : found) {
    if (out.empty() || trade.peak_bytes < out.back().peak_bytes) out.push_back(std::move(trade));
  }
  return out;
}

void Searcher::answer() {
  const std::vector<Finalist> best = at_operator_level(leaders_.best());
  out_.pareto = front(best);
  std::vector<result::SearchRow> rows = rows_of(best);
  for (result::SearchRow& row : rows) {
    account(row);
    row.tied = &row != &rows.front() && tied(rows.front().prediction, row.prediction);
  }
  out_.results = std::move(rows);
  out_.job = base_.model.name + " on " + spec::nodes_text(base_.cluster);
  tell_space();
}

void Searcher::throw_why_none_is_sound() {
  spec::Job job = base_;
  for (int k = 0; k < spec::kSearchKeys; ++k) {
    const auto key = static_cast<SearchKey>(k);
    if (key == SearchKey::dp && !space_[key]) job.strategy.dp.reset();
    if (space_[key]) spec::set_value(key, space_[key]->front(), job);
  }
  std::vector<base::Fault> faults = spec::check(job);
  if (faults.empty()) {
    faults.push_back({"strategy",
                      "no choice of the open keys makes a sound strategy with those that are fixed",
                      "fix fewer keys, or allow more values",
                      {}});
  }
  throw base::InputError(std::move(faults));
}

}  // namespace

result::Search search(const spec::Job& base, const spec::SearchSpace& space, const SearchOptions& options) {
  return Searcher(base, space, options).run();
}

}  // namespace sim
