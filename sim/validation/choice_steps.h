// sim/validation/choice_steps.h -- step times of measured Jobs under any selection of alternatives, each predicted
// once.
//
// A Job that reads nothing that a choice lays its values over is not predicted again for it; nor, beside other choices,
// one whose time no alternative of it changed alone. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/config/catalogue.h"
#include "core/config/choices_reader.h"
#include "sim/validation/holdout.h"
#include "sim/validation/validate.h"

namespace sim {

struct MeasuredJob {
  config::Value job;                // as written
  std::set<std::string> entries;    // of the catalogue that it reads (config::Case)
  base::Seconds measured, present;  // predicted with the catalogue as it is
};

class ChoiceSteps {
 public:
  /// Predicts each choice's alternatives, the others as they are, for the Jobs that they may touch, on all cores.
  /// Throws base::InputError when an alternative makes a Job faulty. REQUIRES: `catalogue` is what the Jobs were read
  /// from.
  ChoiceSteps(std::vector<config::Choice>, config::Catalogue, std::vector<MeasuredJob>, Progress = {});

  const ChoiceSpace& space() const { return space_; }
  /// predicted / measured - 1 of every Job, in their order.
  const std::vector<double>& errors(const Selection&);
  std::size_t predicted() const { return done_; }

 private:
  using Wanted = std::vector<std::pair<std::size_t, Selection>>;  // Job, what it depends on

  Selection seen_by(std::size_t job, const Selection&) const;
  void add_wanted(const Selection&, Wanted&) const;
  void predict(const Wanted&);
  void forget_choices_without_effect();
  base::Seconds step(std::size_t job, const Selection&) const;

  std::vector<config::Choice> choices_;
  config::Catalogue catalogue_;
  std::vector<MeasuredJob> jobs_;
  Progress progress_;
  ChoiceSpace space_;
  std::vector<std::vector<bool>> touched_;                 // by Job and choice
  std::vector<std::map<Selection, base::Seconds>> steps_;  // by Job; choices that do not touch it are as present
  std::map<Selection, std::vector<double>> errors_;
  std::size_t done_ = 0, total_ = 0;
};

}  // namespace sim
