// SPDX-License-Identifier: Apache-2.0
#include "sim/search/company.h"

#include <algorithm>

namespace sim {
namespace {

constexpr double kInstant = 1e-12;  // seconds; the engine knows none shorter

}  // namespace

void Company::enter(const std::vector<PassSection>& sections) {
  static constexpr PassSection kNothing;
  section_ = sections.empty() ? &kNothing : sections.data();
  last_ = sections.empty() ? &kNothing : &sections.back();
  at_ = 0;
}

void Company::settle(double now) {
  if (now <= since_) return;
  const double passed = now - since_;
  for (int part = 0; part < kParts; ++part) left_[part] -= passed * pace_[part];
  at_ += passed * pace_[pass];
  since_ = now;
}

/// Kernels are slowed once, however much flies beside them; what has a link in common shares it evenly.
void Company::repace() {
  while (section_ != last_ && section_->end <= at_ + kInstant) ++section_;
  static constexpr PassSection kNothing;
  const PassSection& now = runs(pass) ? *section_ : kNothing;
  const int out = count(send), in = count(receive), flights = std::max(out, in), exchanges = runs(exchange) ? 1 : 0;
  const int meets = shared_link_ ? exchanges : 0;
  const double own = now.transfer_link.load;
  double slower = std::max(exchanges > 0 ? now.exchange.pass : 1, flights > 0 ? now.transfer.pass : 1);
  slower *= 1 + now.transfer_link.waits * flights + now.exchange_link.waits * exchanges;
  stretch_[pass] = slower;
  const double beside_exchange = 1 + std::max(now.exchange_link.load, shared_link_ ? flights + own : 0);
  stretch_[exchange] = now.exchange.other * beside_exchange;
  stretch_[send] = stretch_[send + 1] = now.transfer.other * (out + meets + own);
  stretch_[receive] = stretch_[receive + 1] = now.transfer.other * (in + meets + own);
  for (int part = 0; part < kParts; ++part) pace_[part] = runs(part) ? 1 / stretch_[part] : 0;
}

double Company::next() {
  repace();
  double first = kNever;
  for (int part = 0; part < kParts; ++part) {
    if (!runs(part)) continue;
    double left = std::max(0.0, left_[part]);
    bool ends = true;
    if (part == pass && running_ != 1u << pass && section_ != last_ && section_->end - at_ < left - kInstant) {
      left = section_->end - at_;
      ends = false;
    }
    const double end = since_ + left * stretch_[part];
    if (end < first) {
      first = end;
      who_ = part;
      ends_ = ends;
    }
  }
  return first;
}

}  // namespace sim
