// tests/readme_test.cpp -- what README says that the first command prints, and its table of accuracy.
// FORERUN_REWRITE_GOLDEN=1 writes them anew.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "core/config/case_reader.h"
#include "core/config/job_reader.h"
#include "reports/text.h"
#include "reports/validation.h"
#include "sim/mend_prices.h"
#include "sim/predict.h"
#include "sim/validation/validate.h"

namespace {

const std::string kReadme = std::string(FORERUN_SOURCE_DIR) + "/README.md";

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// From behind `begin` to `end`, README says `text`.
void expect_said(const std::string& begin, const std::string& end, const std::string& text) {
  const std::string page = text_of(kReadme);
  const std::size_t at = page.find(begin) + begin.size(), last = page.find(end, at);
  ASSERT_LT(last, page.size());
  if (std::getenv("FORERUN_REWRITE_GOLDEN")) {
    std::ofstream(kReadme, std::ios::binary) << page.substr(0, at) << text << page.substr(last);
  } else {
    EXPECT_EQ(page.substr(at, last - at), text);
  }
}

TEST(Readme, ShowsWhatTheFirstCommandPrints) {
  const std::string file = std::string(FORERUN_SOURCE_DIR) + "/workloads/jobs/llama3-70b-64xh100.yaml";
  const spec::Job job = config::read_job(config::load(file), config::Catalogue::find());
  result::Prediction prediction = sim::predict(job, sim::Detail::chains).prediction;
  sim::price_mends(job, prediction);
  expect_said("makes it fit):\n\n```\n", "```\n", reports::summary(prediction));
}

TEST(Readme, ShowsTheAccuracyOfAllFilesButTheTwoThatItNamesBelow) {
  std::set<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(FORERUN_SOURCE_DIR) + "/validation/published")) {
    const std::string name = entry.path().stem();
    if (name != "ultrascale-playbook-stress" && name != "oom-a100-80gb") paths.insert(entry.path());
  }
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  std::vector<config::CaseFile> files;
  for (const auto& path : paths) files.push_back(config::read_cases(path, catalogue));
  expect_said("[docs/accuracy.md](docs/accuracy.md).\n\n", "\nNot in the table",
              reports::validation_markdown(sim::validate(std::move(files))));
}

}  // namespace
