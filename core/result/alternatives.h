// core/result/alternatives.h -- the answer of `forerun explain --what-if`: the step as it is and with some figures
// changed; text and JSON print this one struct (docs/explain.md). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result/prediction.h"

namespace result {

struct ChangedInput {
  std::string input, unit;       // as InputEffect has them
  double before = 0, after = 0;  // SI
};

struct Alternative {
  std::string change;  // "nic=2x"; of all of them "together"
  std::vector<ChangedInput> inputs;
  Prediction prediction;
};

struct RefusedChange {
  std::string change, refusal, mend;  // its first fault
};

struct Alternatives {
  Prediction before;
  std::vector<Alternative>
      after;  // each change alone, in the order given; the last one together where they are several
  std::vector<RefusedChange> refused;  // those that cannot be, which `together` goes without
};

}  // namespace result
