// tests/sim/network/collective_accuracy_test.cpp -- accuracy is a test: published collectives keep their recorded
// bounds. SPDX-License-Identifier: Apache-2.0
#include "sim/network/collective_accuracy.h"

#include <gtest/gtest.h>

#include <filesystem>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/config/catalogue.h"
#include "reports/collectives.h"

namespace {

result::CollectiveValidation validated() {
  const auto catalogue = config::Catalogue::find();
  result::CollectiveValidation v;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(FORERUN_SOURCE_DIR) + "/validation/collectives")) {
    sim::hold_against(file.path(), config::read_collective_cases(file.path(), catalogue), v);
  }
  sim::summarise(v);
  return v;
}

TEST(CollectiveAccuracy, PublishedCollectivesKeepTheirBounds) {
  const result::CollectiveValidation v = validated();
  EXPECT_GE(v.small.rows, 1100);
  EXPECT_GE(v.large.rows, 1400);
  // Recorded medians of the error of bus bandwidth; the curves were fitted to most of these rows (docs/network.md).
  EXPECT_LE(v.large.median_abs_error, 0.045);
  EXPECT_LE(v.small.median_abs_error, 0.065);
}

TEST(CollectiveAccuracy, TheTableOfTheDocumentationIsThisOne) {
  const std::string path = std::string(FORERUN_SOURCE_DIR) + "/docs/network.md";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::string page = text.str();
  const std::string head = "<!-- collectives: renewed by FORERUN_REWRITE_GOLDEN=1 -->\n", foot = "<!-- end -->";
  const std::size_t from = page.find(head) + head.size(), to = page.find(foot, from);
  ASSERT_LT(from, to);
  const std::string table = reports::collectives_markdown(validated());
  if (std::getenv("FORERUN_REWRITE_GOLDEN")) std::ofstream(path) << page.replace(from, to - from, table);
  EXPECT_EQ(page.substr(from, page.find(foot, from) - from), table) << "FORERUN_REWRITE_GOLDEN=1 renews it";
}

TEST(CollectiveAccuracy, AGroupIsJudgedByItsMedian) {
  // Toy: 3 rows of 1 MiB and more, errors of bandwidth measured / predicted - 1.
  result::CollectiveValidation v;
  v.sweeps.push_back({"f",
                      "all_reduce",
                      "n",
                      "",
                      "auto",
                      1,
                      8,
                      {{1 << 20, 0, 0, 0.1, "", ""},
                       {1 << 21, 0, 0, -0.3, "", ""},
                       {1 << 22, 0, 0, 0.2, "", ""},
                       {1024, 0, 0, -0.5, "", ""}}});
  sim::summarise(v);
  EXPECT_EQ(v.large.rows, 3);
  EXPECT_DOUBLE_EQ(v.large.median_abs_error, 0.2);
  EXPECT_DOUBLE_EQ(v.large.median_signed_error, 0.1);
  EXPECT_DOUBLE_EQ(v.small.median_abs_error, 0.5);
}

}  // namespace
