// sim/memory/mends.h -- what would make a job fit that does not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/spec/job.h"

namespace sim {

/// A change of a job that makes it fit.
struct FittingChange {
  std::string flags;  // "--recompute full"
  spec::Job job;      // so changed, resolved
};

/// Whether a change may be told, by its flags. Empty: each may.
using MayTell = std::function<bool(const std::string& flags)>;

/// At most four changes of the job that make it fit. Single ones, those first that usually cost least time
/// (sim/mend_prices.h has their times); those that leave hardly any room (tight.h) where none leaves more. Where none
/// does alone, or none but another cut over the ranks, as many together as it takes of those that trade time for
/// memory, then with parameters sharded; where that is not enough, another cut besides, and states on the host. Each is
/// planned and measured, none is guessed. Empty when nothing helps. REQUIRES: resolved.
std::vector<FittingChange> fitting_changes(const spec::Job&, const MayTell& = {});

/// Their flags alone.
std::vector<std::string> changes_that_fit(const spec::Job&);

}  // namespace sim
