// SPDX-License-Identifier: Apache-2.0
#include "sim/against/parts.h"

#include <algorithm>
#include <cstdlib>

namespace sim {

using result::DifferencePart;
using result::OperatorTime;

namespace {

/// Takes what waits out of it.
OperatorTime take_waiting(OperatorTime& from) {
  const OperatorTime waiting{from.count, from.waiting_ps, from.waiting_ps, from.waiting_in_step_ps,
                             from.waiting_in_step_ps};
  from.busy_ps -= from.waiting_ps;
  from.in_step_ps -= from.waiting_in_step_ps;
  from.waiting_ps = from.waiting_in_step_ps = 0;
  return waiting;
}

}  // namespace

DifferencePart& Parts::at(Kind kind, const std::string& family, const std::string& name, const std::string& phase) {
  DifferencePart& part = parts_[{kind, family, name, phase}];
  std::tie(part.kind, part.family, part.name, part.phase) = std::tie(kind, family, name, phase);
  return part;
}

void Parts::split_waiting() {
  std::vector<DifferencePart> waiting;
  for (auto& [key, part] : parts_) {
    if (part.kind != Kind::operators || part.measured.waiting_ps == 0) continue;
    waiting.push_back(
        {Kind::waiting, part.family, part.name, part.phase, take_waiting(part.predicted), take_waiting(part.measured)});
  }
  for (const DifferencePart& part : waiting) at(part.kind, part.family, part.name, part.phase) = part;
}

std::vector<DifferencePart> Parts::largest_first() const {
  std::vector<DifferencePart> out;
  for (const auto& [key, part] : parts_) out.push_back(part);
  std::stable_sort(out.begin(), out.end(), [](const DifferencePart& a, const DifferencePart& b) {
    return std::abs(a.difference_ps()) > std::abs(b.difference_ps());
  });
  return out;
}

std::vector<DifferencePart> by_family(const std::vector<DifferencePart>& parts) {
  Parts sums;
  for (const DifferencePart& part : parts) {
    DifferencePart& sum = sums.at(part.kind, part.family);
    sum.predicted += part.predicted;
    sum.measured += part.measured;
  }
  return sums.largest_first();
}

}  // namespace sim
