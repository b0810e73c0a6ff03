// SPDX-License-Identifier: Apache-2.0
#include "sim/validation/choice_steps.h"

#include <algorithm>
#include <mutex>

#include "core/base/parallel.h"
#include "core/config/job_reader.h"
#include "sim/predict.h"

namespace sim {
namespace {

bool touches(const config::Choice& choice, const std::set<std::string>& entries) {
  for (const config::Alternative& alternative : choice.alternatives) {
    for (const std::string& entry : config::entries_of(alternative)) {
      if (entry == "job" || entries.contains(entry)) return true;
    }
  }
  return false;
}

}  // namespace

ChoiceSteps::ChoiceSteps(std::vector<config::Choice> choices, config::Catalogue catalogue,
                         std::vector<MeasuredJob> jobs, Progress progress)
    : choices_(std::move(choices)),
      catalogue_(std::move(catalogue)),
      jobs_(std::move(jobs)),
      progress_(std::move(progress)) {
  for (const config::Choice& choice : choices_) {
    space_.alternatives.push_back(choice.alternatives.size());
    space_.present.push_back(choice.present);
    std::vector<std::string>& tellers = space_.told_by.emplace_back();
    for (const config::Alternative& alternative : choice.alternatives) tellers.push_back(alternative.told_by);
  }
  for (const MeasuredJob& job : jobs_) {
    std::vector<bool>& touched = touched_.emplace_back();
    for (const config::Choice& choice : choices_) touched.push_back(touches(choice, job.entries));
    steps_.emplace_back()[space_.present] = job.present;
  }
  Wanted wanted;
  for (std::size_t c = 0; c < choices_.size(); ++c) {
    Selection at = space_.present;
    for (at[c] = 0; at[c] < space_.alternatives[c]; ++at[c]) add_wanted(at, wanted);
  }
  predict(wanted);
  forget_choices_without_effect();
}

const std::vector<double>& ChoiceSteps::errors(const Selection& selection) {
  const auto [at, is_new] = errors_.try_emplace(selection);
  if (!is_new) return at->second;
  Wanted wanted;
  add_wanted(selection, wanted);
  predict(wanted);
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    at->second.push_back(steps_[job].at(seen_by(job, selection)) / jobs_[job].measured - 1);
  }
  return at->second;
}

Selection ChoiceSteps::seen_by(std::size_t job, const Selection& selection) const {
  Selection seen = selection;
  for (std::size_t c = 0; c < seen.size(); ++c) {
    if (!touched_[job][c]) seen[c] = space_.present[c];
  }
  return seen;
}

void ChoiceSteps::add_wanted(const Selection& selection, Wanted& wanted) const {
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    Selection seen = seen_by(job, selection);
    if (!steps_[job].contains(seen)) wanted.emplace_back(job, std::move(seen));
  }
}

void ChoiceSteps::predict(const Wanted& wanted) {
  total_ += wanted.size();
  std::vector<base::Seconds> times(wanted.size());
  std::mutex guard;
  base::parallel_for(wanted.size(), [&](std::size_t i) {
    times[i] = step(wanted[i].first, wanted[i].second);
    const std::lock_guard lock(guard);
    ++done_;
    if (progress_) progress_(done_, total_);
  });
  for (std::size_t i = 0; i < wanted.size(); ++i) steps_[wanted[i].first][wanted[i].second] = times[i];
}

void ChoiceSteps::forget_choices_without_effect() {
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    for (std::size_t c = 0; c < choices_.size(); ++c) {
      if (!touched_[job][c]) continue;
      Selection at = space_.present;
      bool differs = false;
      for (at[c] = 0; at[c] < space_.alternatives[c]; ++at[c]) differs |= steps_[job].at(at) != jobs_[job].present;
      touched_[job][c] = differs;
    }
  }
}

base::Seconds ChoiceSteps::step(std::size_t job, const Selection& selection) const {
  config::Catalogue changed = catalogue_;
  for (std::size_t c = 0; c < choices_.size(); ++c) {
    if (selection[c] != space_.present[c]) {
      changed = changed.with(choices_[c].alternatives[selection[c]].overrides);
    }
  }
  const spec::Job read = config::read_job(jobs_[job].job, changed);
  return base::Seconds(sim::predict(read, Detail::chains).prediction.step_time_s);
}

}  // namespace sim
