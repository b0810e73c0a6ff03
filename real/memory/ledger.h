// real/memory/ledger.h -- how many bytes of each category are taken now, and what it was at its highest.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/plan/plan.h"

namespace real {

class Ledger {
 public:
  using ByCategory = std::array<std::int64_t, plan::kCategories>;  // bytes

  void take(plan::Category category, std::int64_t bytes);
  /// REQUIRES: as many bytes of the category are taken
  void give(plan::Category category, std::int64_t bytes);

  std::int64_t total() const { return total_; }
  std::int64_t peak() const { return peak_; }
  const ByCategory& now() const { return now_; }
  /// What the peak consisted of; the first such moment.
  const ByCategory& at_peak() const { return at_peak_; }
  /// The peak is what is taken now: a new step begins.
  void begin_step();

 private:
  ByCategory now_{}, at_peak_{};
  std::int64_t total_ = 0, peak_ = 0;
};

/// "78.2 GB: parameters 30.1 GB, activations 48.1 GB", the largest first; categories with nothing are left out.
std::string to_string(const Ledger::ByCategory&);

}  // namespace real
