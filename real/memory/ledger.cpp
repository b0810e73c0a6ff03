// SPDX-License-Identifier: Apache-2.0
#include "real/memory/ledger.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <vector>

#include "core/base/text.h"

namespace real {

void Ledger::take(plan::Category category, std::int64_t bytes) {
  now_[static_cast<std::size_t>(category)] += bytes;
  total_ += bytes;
  if (total_ > peak_) {
    peak_ = total_;
    at_peak_ = now_;
  }
}

void Ledger::give(plan::Category category, std::int64_t bytes) {
  std::int64_t& taken = now_[static_cast<std::size_t>(category)];
  assert(taken >= bytes);
  taken -= bytes;
  total_ -= bytes;
}

void Ledger::begin_step() {
  peak_ = total_;
  at_peak_ = now_;
}

std::string to_string(const Ledger::ByCategory& bytes) {
  const auto human = [](std::int64_t n) { return base::human(base::Bytes(static_cast<double>(n))); };
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return bytes[i]; });
  std::string parts;
  for (const std::size_t i : order) {
    if (bytes[i] > 0)
      parts += (parts.empty() ? ": " : ", ") + std::string(plan::kCategoryNames[i]) + " " + human(bytes[i]);
  }
  return human(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0})) + parts;
}

}  // namespace real
