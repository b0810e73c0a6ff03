// tests/sim/search/company_test.cpp -- what runs together on one stage, at paces that can be worked out on paper.
// SPDX-License-Identifier: Apache-2.0
#include "sim/search/company.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace {

using sim::Company;

/// Lets everything end; who did, and when.
std::vector<std::pair<int, double>> ends_of(Company& company) {
  std::vector<std::pair<int, double>> out;
  for (double now = company.next(); now < Company::kNever; now = company.next()) {
    if (company.ends()) {
      out.emplace_back(company.who(), now);
      company.end(company.who(), now);
    } else {
      company.settle(now);
    }
  }
  return out;
}

using Ends = std::vector<std::pair<int, double>>;

TEST(Company, TransfersOfOneDirectionShareALinkAndThoseOfTheOtherDoNot) {
  // Two that leave, of 1 s and 2 s: at half the pace each to 2, then the second alone to 3. One that comes takes 2 s.
  Company company(false);
  company.begin(Company::send, 0, 1);
  company.begin(Company::send + 1, 0, 2);
  company.begin(Company::receive, 0, 2.5);
  EXPECT_EQ(ends_of(company), (Ends{{Company::send, 2}, {Company::receive, 2.5}, {Company::send + 1, 3}}));
}

TEST(Company, ACollectiveHoldsBothDirectionsOfALinkThatItShares) {
  // At half the pace beside a transfer each way, which are through at 2; 1 s is left then.
  Company company(true);
  company.begin(Company::exchange, 0, 2);
  company.begin(Company::send, 0, 1);
  company.begin(Company::receive + 1, 0, 1);
  EXPECT_EQ(ends_of(company), (Ends{{Company::send, 2}, {Company::receive + 1, 2}, {Company::exchange, 3}}));
}

TEST(Company, APassIsSlowedOnceByTwoThatFly) {
  // At two thirds of its pace, not four ninths: 1 s of its 3 s is done at 1.5.
  const std::vector<sim::PassSection> sections{{.end = 3, .exchange = {1.5, 1}, .transfer = {1.5, 1}}};
  Company company(false);
  company.enter(sections);
  company.begin(Company::pass, 0, 3);
  company.begin(Company::exchange, 0, 1.5);
  company.begin(Company::send, 0, 1.5);
  EXPECT_EQ(ends_of(company), (Ends{{Company::exchange, 1.5}, {Company::send, 1.5}, {Company::pass, 3.5}}));
}

TEST(Company, ATransferMeetsWhatAPassExchangesItselfThen) {
  // Of its 4 s a pass communicates over the transfer's link in the second. The transfer, of 1.5 s, has 0.5 s to go when
  // that begins, and takes 1 s for it, in which the pass does 0.5 s of its own: 2.5 s are left at 2.
  const std::vector<sim::PassSection> sections{
      {.end = 1, .exchange = {}, .transfer = {}},
      {.end = 2, .exchange = {}, .transfer = {}, .transfer_link = {.load = 1, .waits = 1}},
      {.end = 4, .exchange = {}, .transfer = {}}};
  Company company(false);
  company.enter(sections);
  company.begin(Company::pass, 0, 4);
  company.begin(Company::send, 0, 1.5);
  EXPECT_EQ(ends_of(company), (Ends{{Company::send, 2}, {Company::pass, 4.5}}));
}

TEST(Company, CommunicationThatKernelsHideSlowsATransferOnly) {
  // As above, but nothing waits for it.
  const std::vector<sim::PassSection> sections{{.end = 1, .exchange = {}, .transfer = {}},
                                               {.end = 2, .exchange = {}, .transfer = {}, .transfer_link = {.load = 1}},
                                               {.end = 4, .exchange = {}, .transfer = {}}};
  Company company(false);
  company.enter(sections);
  company.begin(Company::pass, 0, 4);
  company.begin(Company::send, 0, 1.5);
  EXPECT_EQ(ends_of(company), (Ends{{Company::send, 2}, {Company::pass, 4}}));
}

}  // namespace
