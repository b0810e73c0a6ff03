// tests/readme_test.cpp -- what README says that the first command prints. FORERUN_REWRITE_GOLDEN=1 writes it anew.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "core/config/job_reader.h"
#include "reports/text.h"
#include "sim/predict.h"

namespace {

const std::string kReadme = std::string(FORERUN_SOURCE_DIR) + "/README.md";

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Readme, ShowsWhatTheFirstCommandPrints) {
  const std::string job = std::string(FORERUN_SOURCE_DIR) + "/workloads/jobs/llama3-70b-64xh100.yaml";
  const std::string printed = reports::summary(
      sim::predict(config::read_job(config::load(job), config::Catalogue::find()), sim::Detail::chains).prediction);
  const std::string page = text_of(kReadme), fence = "```\n";
  const std::size_t begin = page.find(fence, page.find("The first one prints")) + fence.size();
  const std::size_t end = page.find(fence, begin);
  ASSERT_LT(end, page.size());
  if (std::getenv("FORERUN_REWRITE_GOLDEN")) {
    std::ofstream(kReadme, std::ios::binary) << page.substr(0, begin) << printed << page.substr(end);
  } else {
    EXPECT_EQ(page.substr(begin, end - begin), printed);
  }
}

}  // namespace
