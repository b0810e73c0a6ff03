// sim/search/company.h -- what runs on one stage at an instant, and the pace that each leaves the others: the engine's
// law (sim/engine/sharing.h) for passes that are known by their sections. Instants in seconds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "sim/search/chunk_cost.h"

namespace sim {

class Company {
 public:
  /// A pass, a collective of the data-parallel axis, transfers to and from other stages by direction.
  enum Part : int { pass, exchange, send, receive = send + 2, kParts = receive + 2 };
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// `shared_link`: transfers and the collective have a link in common.
  explicit Company(bool shared_link) : shared_link_(shared_link) {}

  /// The sections of the pass that runs next, which outlive it; none: nothing slows it, and it nothing.
  void enter(const std::vector<PassSection>& sections);
  /// It begins so many seconds later.
  void wait(double late) { at_ -= late; }
  /// `alone`: seconds that it takes without company.
  void begin(int part, double now, double alone) {
    settle(now);
    running_ |= 1u << part;
    left_[part] = alone;
  }
  void end(int part, double now) {
    settle(now);
    running_ &= ~(1u << part);
  }
  bool runs(int part) const { return (running_ >> part & 1) != 0; }
  /// Works out what happens next, and when; to be asked once all that begins and ends at an instant is told.
  double next();
  /// Who ends then, unless it is but a section of the pass.
  int who() const { return who_; }
  bool ends() const { return ends_; }
  void settle(double now);

 private:
  int count(int from) const { return runs(from) + runs(from + 1); }
  void repace();

  const PassSection *section_ = nullptr, *last_ = nullptr;  // of the pass
  double at_ = 0;                                           // seconds into it, alone
  std::array<double, kParts> left_{}, stretch_{}, pace_{};
  double since_ = 0;
  unsigned running_ = 0;
  int who_ = 0;
  bool ends_ = false, shared_link_;
};

}  // namespace sim
