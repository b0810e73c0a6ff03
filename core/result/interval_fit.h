// core/result/interval_fit.h -- the answer of `forerun validate --fit-interval`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace result {

/// Standard deviations of log(measured / predicted) where the measured step is faster and where it is slower.
struct FittedSpread {
  std::string cause;  // as IntervalContribution::cause
  int sources = 0, rows = 0;
  double faster = 0, slower = 0;
};

/// A file's share of rows inside the 80 % interval.
struct FittedFile {
  std::string file;
  int rows = 0;
  double with = 0, without = 0;  // found with all files, and without this one
};

struct IntervalFit {
  std::vector<FittedSpread> spreads;
  std::vector<FittedFile> files;
  std::optional<double> with, without;  // mean over the files of at least 5 rows; nothing: there is none
};

}  // namespace result
