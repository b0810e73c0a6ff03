// SPDX-License-Identifier: Apache-2.0
#include "sim/advice.h"

#include <utility>

#include "sim/host_bound.h"
#include "sim/mend_prices.h"

namespace sim {

void advise(const spec::Job& job, result::Prediction& p, const MayTell& may) {
  price_mends(job, p, may);
  if (auto warning = host_bound(job, p)) p.warnings.push_back(std::move(*warning));
}

}  // namespace sim
