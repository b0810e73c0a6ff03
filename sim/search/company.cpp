// SPDX-License-Identifier: Apache-2.0
#include "sim/search/company.h"

#include <algorithm>

namespace sim {

void Company::settle(double now) {
  for (int part = 0; part < kParts && now > since_; ++part) {
    if (runs(part)) left_[part] = std::max(0.0, left_[part] - (now - since_) / stretch_[part]);
  }
  since_ = now;
}

/// A pass is slowed once, however much flies beside it; what has a link in common shares it evenly.
void Company::repace() {
  const int out = count(send), in = count(receive), flies = runs(exchange) ? 1 : 0;
  const int sharing = shared_link_ ? flies : 0;
  stretch_[pass] = std::max(flies > 0 ? beside_exchange_.pass : 1, out + in > 0 ? beside_transfer_.pass : 1);
  stretch_[exchange] =
      (runs(pass) ? beside_exchange_.other : 1) * (shared_link_ ? 1 + std::max(out, in) : 1);
  const double hindered = runs(pass) ? beside_transfer_.other : 1;
  stretch_[send] = stretch_[send + 1] = hindered * (out + sharing);
  stretch_[receive] = stretch_[receive + 1] = hindered * (in + sharing);
}

double Company::next() {
  repace();
  double first = kNever;
  for (int part = 0; part < kParts; ++part) {
    if (!runs(part)) continue;
    const double end = since_ + left_[part] * stretch_[part];
    if (end < first) {
      first = end;
      who_ = part;
    }
  }
  return first;
}

}  // namespace sim
