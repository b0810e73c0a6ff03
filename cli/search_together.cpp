// SPDX-License-Identifier: Apache-2.0
#include "cli/search_together.h"

#include "core/base/fault.h"
#include "real/launch/world.h"

namespace cli {
namespace {

// Processes are done at different times; one that is lost is told at once, without any patience.
constexpr base::Seconds kDay = base::s(24 * 3600);

}  // namespace

std::optional<result::Search> search_together(const config::OpenJob& open, sim::SearchOptions options) {
  const real::Identity self = real::identify(real::process_environment());
  if (self.world == 1) return sim::search(open.job, open.space, options);
  real::World world = real::join(self);
  options.share = {self.rank, self.world,
                   [&](const std::string& mine) { return world.store->gather("search", mine, kDay); }};
  if (self.rank != 0) options.progress = nullptr;
  try {
    result::Search answer = sim::search(open.job, open.space, options);
    world.store->leave(kDay);
    if (self.rank != 0) return {};
    return answer;
  } catch (const base::InputError&) {  // of what all have found: no other one's fault
    world.store->leave(kDay);
    throw;
  }
}

}  // namespace cli
