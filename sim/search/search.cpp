// SPDX-License-Identifier: Apache-2.0
#include "sim/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/fault.h"
#include "core/base/parallel.h"
#include "core/plan/build.h"
#include "sim/memory/footprint.h"
#include "sim/predict.h"
#include "sim/search/answer.h"
#include "sim/search/choices.h"
#include "sim/search/findings.h"
#include "sim/search/group_paces.h"
#include "sim/search/leaders.h"
#include "sim/search/more_nodes.h"
#include "sim/search/nearest.h"
#include "sim/search/strategies.h"
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

/// What one thread needs for itself.
struct Desk {
  Desk(const spec::Job& base, const spec::SearchSpace& space) : jobs(base, space), prices(base.cluster, base.network) {}
  JobMaker jobs;
  PriceList prices;
};

/// For what two levels cannot tell: bytes of the fullest stage; where GPUs differ, what they come to on the least able
/// kind with as much to spare.
std::int64_t peak_at_operator_level(const spec::Job& job, std::int64_t capacity) {
  const plan::Plan plan = plan::build(job);
  const Fullest most = fullest(plan, footprints(plan, job), job.cluster);
  return most.peak + capacity - most.capacity;
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
    if (gathered()) answer({base_, space_, options_, threads_}, leaders_, nearest_, counts_, out_);
    if (out_.nearest && options_.more_nodes)
      out_.nodes_that_fit = nodes_that_fit(base_, space_, threads_, options_.stop);
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
  std::optional<Standing> nearest_here() const;
  Findings findings() const;
  bool gathered();
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
  Nearest misses_;                     // among those that do not
  std::optional<Standing> nearest_;    // of all processes
  Leaders leaders_;
  std::mutex guard_;  // of what follows
  std::atomic<std::int64_t> strategies_{0}, operator_level_{0}, priced_{0}, bounded_{0}, unwanted_{0}, too_large_{0};
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
    const auto bytes = draft.peak_within(misses_.limit(capacity_));
    if (!bytes) return;
    one.bytes = *bytes;
    if (one.bytes <= capacity_) one.least = draft.least_time();
  } else {
    one.bytes = peak_at_operator_level(job, capacity_);
  }
  if (one.bytes > capacity_) return misses_.add(point, one.bytes);
  misses_.something_fits();
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
      add_counts(counts_, counts);
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
  const Outline step = outline(job);
  if (!step.fits) return {};
  ++operator_level_;
  return Standing{step.pace_s, step.peak_bytes, one.point};
}

/// Best bound first, until no bound is below what the best take. A search that is stopped before still tells some: the
/// most promising of what is known to fit.
void Searcher::price() {
  std::atomic<std::size_t> done{0};
  on_all_desks(candidates_.size(), static_cast<std::size_t>(options_.top), [&](std::size_t i, Desk& desk) {
    const Candidate& one = candidates_[i];
    if (options_.bounds && leaders_.beaten({one.least, one.bytes, one.point})) {
      ++bounded_;
    } else if (options_.wanted && !options_.wanted(choices_of(base_, one.point))) {
      ++unwanted_;
    } else if (const std::optional<Standing> standing = priced(one, desk)) {
      leaders_.add(*standing);
      ++priced_;
    } else {
      ++too_large_;
    }
    if (++done % 64 == 0) tell(candidates_.size() + done, 2 * candidates_.size());
  });
}

/// Where all that seemed to fit was too large at operator level, or for the host, one of those.
std::optional<Standing> Searcher::nearest_here() const {
  if (candidates_.empty()) return misses_.best();
  if (priced_ + bounded_ + unwanted_ > 0) return {};
  const auto standing = [](const Candidate& one) { return Standing{0, one.bytes, one.point}; };
  return standing(*std::ranges::min_element(candidates_, nearer, standing));
}

Findings Searcher::findings() const {
  Findings out;
  out.strategies = strategies_;
  out.fits = static_cast<std::int64_t>(candidates_.size()) - too_large_;
  out.priced = priced_;
  out.bounded = bounded_;
  out.unwanted = unwanted_;
  out.operator_level = operator_level_;
  out.complete = !stopped();
  out.values = counts_;
  if (const std::optional<Standing> nearest = nearest_here()) out.nearest.push_back(*nearest);
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
    out_.unwanted += one.unwanted;
    out_.operator_level += one.operator_level;
    out_.complete = out_.complete && one.complete;
    add_counts(counts_, one.values);
    for (const Standing& standing : one.standings) leaders_.add(standing);
    for (const Standing& standing : one.nearest) {
      if (!nearest_ || nearer(standing, *nearest_)) nearest_ = standing;
    }
  }
  if (out_.fits > 0) nearest_.reset();
  out_.evaluated = out_.strategies - out_.fits + out_.priced + out_.bounded + out_.unwanted;
  if (out_.strategies == 0 && out_.complete) throw_why_none_is_sound();
  return true;
}

/// A dp of the file is no fault beside others where another degree is open, which may make up for it: where it divides
/// the GPUs.
void tell_dp_last(const spec::SearchSpace& space, const spec::Job& job, std::vector<base::Fault>& faults) {
  const auto of_dp = [](const base::Fault& fault) { return fault.field == "strategy.dp"; };
  const bool may = job.cluster.gpus() % std::max(1, job.strategy.dp.value_or(1)) == 0;
  const bool open = may && (!space[SearchKey::tp] || !space[SearchKey::cp] || !space[SearchKey::pp]);
  if (open && !std::ranges::all_of(faults, of_dp)) std::erase_if(faults, of_dp);
}

void Searcher::throw_why_none_is_sound() {
  spec::Job job = base_;
  for (int k = 0; k < spec::kSearchKeys; ++k) {
    const auto key = static_cast<SearchKey>(k);
    if (key == SearchKey::dp && !space_[key]) job.strategy.dp.reset();
    if (space_[key]) spec::set_value(key, space_[key]->front(), job);
  }
  std::vector<base::Fault> faults = spec::check(job);
  tell_dp_last(space_, job, faults);
  if (faults.empty()) {
    std::string mend = "fix fewer keys, or allow more values";
    for (const auto& [key, what] : left_out(base_, space_)) mend += fmt::format("; {}: {}", key, what);
    faults.push_back(
        {"strategy", "no choice of the open keys makes a sound strategy with those that are fixed", mend, {}});
  }
  throw base::InputError(std::move(faults));
}

}  // namespace

result::Search search(const spec::Job& base, const spec::SearchSpace& space, const SearchOptions& options) {
  if (!base.cluster.mixed()) return Searcher(base, space, options).run();
  spec::Job paced = base;
  tell_paces(paced);
  return Searcher(paced, space, options).run();
}

}  // namespace sim
