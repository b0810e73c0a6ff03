// sim/analysis/provenance.h -- where each calibrated number that a plan needs came from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/result/prediction.h"
#include "core/spec/job.h"

namespace sim {

struct Origins {
  std::vector<result::Provenance> numbers;
  /// Collectives whose sizes their curve was not fitted to, in words for a warning; nothing where a calibration file
  /// does not tell (`covered`).
  std::vector<std::string> extrapolated;
};

Origins origins(const spec::Job&, const plan::Plan&);

}  // namespace sim
