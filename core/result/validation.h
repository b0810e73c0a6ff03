// core/result/validation.h -- the answer of `forerun validate`: predictions beside what was measured, and how far apart
// they are. Text, Markdown and JSON print these structs; names are the JSON keys (docs/validation.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result/prediction.h"

namespace result {

using Labels = std::vector<std::pair<std::string, std::string>>;

/// One measured step. Seconds and bytes are SI; errors are predicted / measured - 1.
struct ValidationCase {
  std::string id, tier, notes;

  std::optional<double> measured_s;
  std::optional<std::int64_t> measured_bytes;  // of one GPU of the fullest stage
  std::string memory_kind = "unknown";         // what that counts: allocated reserved smi unknown
  std::optional<bool> measured_fits;           // as the file states it

  std::string error_message;  // not empty: could not be run, and all that follows is empty

  std::optional<double> predicted_s, low_s, high_s;  // low to high: the 80 % interval
  std::optional<std::int64_t> predicted_bytes;       // of the same kind as measured_bytes
  std::optional<bool> fits;
  std::optional<double> error, memory_error;
  std::optional<bool> inside;  // the measured time lies in the interval
  std::vector<IntervalContribution> interval_contributions;
  std::vector<std::string> warnings;

  Labels labels;            // what rows can be grouped by: gpu, tp, pp ...
  double tokens = 0;        // of the step
  std::string ranked_with;  // model and cluster: strategies of equal ones are ranked against one another

  bool refused() const { return !error_message.empty(); }
  /// Whether the step fitted in truth: as stated, else it did if anything of it was measured.
  std::optional<bool> did_fit() const {
    if (measured_fits) return measured_fits;
    return measured_s || measured_bytes ? std::optional(true) : std::nullopt;
  }
};

/// Empty where there is no row to take it from.
struct ValidationFigures {
  std::optional<double> mape, median_abs_error, mean_signed_error, p90_abs_error, coverage_80;
  std::optional<double> memory_mape;
  std::optional<double> fits_right;   // share of fits_rows
  std::optional<double> kendall_tau;  // mean over the rankings
};

struct ValidationSummary : ValidationFigures {
  int rows = 0;                               // a step time was measured and predicted
  int refused = 0;                            // could not be run, whatever was measured
  int memory_rows = 0;                        // memory was measured and predicted
  int fits_rows = 0;                          // known to have fitted or not, and run
  int missed_misfits = 0, false_misfits = 0;  // ran out of memory where we say it fits; the reverse
  int rankings = 0;                           // groups of equal model and cluster behind kendall_tau
};

/// The figures averaged over files, so that a sweep of a thousand rows does not drown a paper of ten.
struct ValidationMacro : ValidationFigures {
  int files = 0;
};

/// How alike predicted and measured order strategies of one model on one cluster.
struct Ranking {
  std::string of;  // "gpt3-175b on 12 x dgx-a100-80gb"
  int rows = 0;
  double kendall_tau = 0;  // tau-b of time per token: 1 the same order, -1 the reverse
  double regret = 0;  // measured time per token of the strategy predicted best over that of the best measured, less 1
};

struct ValidationFile {
  std::string file;
  Labels source;
  ValidationSummary summary;
  std::vector<Ranking> rankings;
  std::vector<ValidationCase> cases;
};

struct Validation {
  std::vector<ValidationFile> files;
  ValidationSummary summary;
  ValidationMacro macro;
};

/// Rows of all files that are alike in `key`.
struct ValidationGroup {
  std::string label;
  ValidationSummary summary;
};
struct ValidationGrouping {
  std::string key;  // "tp", or "tp+pp" for both at once
  std::vector<ValidationGroup> groups;
};

}  // namespace result
