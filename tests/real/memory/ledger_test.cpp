// tests/real/memory/ledger_test.cpp -- bytes by category, now and at the highest.
// SPDX-License-Identifier: Apache-2.0
#include "real/memory/ledger.h"

#include <gtest/gtest.h>

namespace {

using plan::Category;

std::int64_t of(const real::Ledger::ByCategory& bytes, Category category) {
  return bytes[static_cast<std::size_t>(category)];
}

TEST(MemoryLedger, KeepsWhatThePeakConsistedOf) {
  real::Ledger ledger;
  ledger.take(Category::parameters, 100);
  ledger.take(Category::activations, 50);  // 150: the peak
  ledger.give(Category::activations, 50);
  ledger.take(Category::logits, 40);
  EXPECT_EQ(ledger.total(), 140);
  EXPECT_EQ(ledger.peak(), 150);
  EXPECT_EQ(of(ledger.at_peak(), Category::activations), 50);
  EXPECT_EQ(of(ledger.at_peak(), Category::logits), 0);
}

TEST(MemoryLedger, ANewStepStartsFromWhatIsTaken) {
  real::Ledger ledger;
  ledger.take(Category::workspace, 10);
  ledger.give(Category::workspace, 4);
  ledger.begin_step();
  EXPECT_EQ(ledger.peak(), 6);
}

TEST(MemoryLedger, TellsTheLargestFirst) {
  real::Ledger ledger;
  ledger.take(Category::parameters, 1'000'000'000);
  ledger.take(Category::activations, 3'000'000'000);
  EXPECT_EQ(real::to_string(ledger.now()), "4.00 GB: activations 3.00 GB, parameters 1.00 GB");
}

}  // namespace
