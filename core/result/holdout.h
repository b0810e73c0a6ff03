// core/result/holdout.h -- the answer of `forerun validate --holdout`: how far predictions of a group of rows are off
// when the choices between models were made without it. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace result {

/// Of a group's rows, or the mean over groups. Errors are predicted / measured - 1.
struct HoldoutFigures {
  double median_abs_error = 0, mape = 0, mean_signed_error = 0;
};

/// A choice that comes out otherwise than the catalogue has it; by position.
struct HoldoutChange {
  std::size_t choice = 0, alternative = 0;
};

struct HoldoutGroup {
  std::string name;
  int rows = 0;
  HoldoutFigures present;                             // with the catalogue's choices
  HoldoutFigures in_sample, held_out;                 // with those made on all groups, and on all others
  std::vector<HoldoutChange> changes;                 // that the others make, held against the catalogue
  std::optional<double> inside_with, inside_without;  // share of rows in the 80 % interval, its constants fitted so
};

struct HoldoutAlternative {
  std::string name;
  int rows = 0;                        // whose prediction it changes
  double alone = 0, beside_refit = 0;  // mean of groups' median errors, the other choices as in the catalogue; refitted
};

struct HoldoutChoice {
  std::string name, decides;
  std::vector<HoldoutAlternative> alternatives;
  std::size_t present = 0, in_sample = 0;  // in the catalogue; made on all groups
};

struct Holdout {
  std::string key;  // what rows are grouped by
  std::vector<HoldoutGroup> groups;
  std::vector<HoldoutChoice> choices;
  HoldoutFigures present, in_sample, held_out;        // mean over the groups
  double ratio = 0;                                   // of the median errors: held out over in-sample
  std::optional<double> inside_with, inside_without;  // mean over the groups
};

}  // namespace result
