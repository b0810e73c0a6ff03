// core/result/limits.h -- the answer of `forerun fit`: how far each size of a job can grow before memory is full.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result/prediction.h"

namespace result {

/// One size of the job, all others as they are.
struct Limit {
  std::string size;                                           // sequence context micro_batch layers width
  std::string unit;                                           // "tokens"
  std::int64_t given = 0;                                     // the job's own
  std::optional<std::int64_t> reached;                        // the largest that fits; none: no value does
  std::vector<std::pair<std::string, std::string>> settings;  // of the reached one, for --set
  std::int64_t parameters = 0;                                // of the reached one's model
  Prediction prediction;                                      // of the reached one
  bool tight = false;                                         // it, with hardly anything to spare (sim/memory/tight.h)
  std::vector<std::string> warnings;                          // of the reached one's job, which the given one has not
  std::optional<std::int64_t> next;                           // the nearest value found not to fit, or refused
  Prediction next_prediction;                                 // its
  std::string next_refusal;                                   // why it is no job at all; next_prediction is empty then
  std::string refusal;                                        // why this size cannot be varied; empty: it was
};

struct Limits {
  Prediction given;
  std::int64_t parameters = 0;
  std::vector<Limit> limits;
};

}  // namespace result
