// SPDX-License-Identifier: Apache-2.0
#include "real/trace/join.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace real {

Joined join(const Records& records) {
  std::unordered_map<std::uint32_t, OperatorInstance> owner_of;
  for (const Ownership& one : records.owners) owner_of[one.correlation] = one.owner;

  std::vector<const DeviceRecord*> by_start;
  for (const DeviceRecord& record : records.device) by_start.push_back(&record);
  std::ranges::stable_sort(by_start, {}, [](const DeviceRecord* r) { return std::tuple(r->start_ns, r->correlation); });

  Joined out;
  std::unordered_map<OperatorInstance, std::size_t> place;  // in out.operators
  for (const DeviceRecord* record : by_start) {
    const auto owner = owner_of.find(record->correlation);
    if (owner == owner_of.end()) {
      out.orphans.push_back(*record);
      continue;
    }
    const auto [at, fresh] = place.try_emplace(owner->second, out.operators.size());
    if (fresh) out.operators.push_back({owner->second, record->start_ns, record->end_ns, 0, {}});
    OperatorTime& time = out.operators[at->second];
    time.end_ns = std::max(time.end_ns, record->end_ns);
    time.busy_ns += record->end_ns - record->start_ns;
    time.kernels.push_back(record->name);
  }
  return out;
}

}  // namespace real
