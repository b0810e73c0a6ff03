// tests/cli/strategies_test.cpp -- keeps docs/strategies.md what the tool prints, and its sentences true.
// `FORERUN_REWRITE_GOLDEN=1 ./dev test -R Strategies` writes the tables anew. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::content_of;
using testing_support::forerun;

const std::string kPage = FORERUN_SOURCE_DIR "/docs/strategies.md";

Answer compared(const std::string& family, const std::string& output) {
  return forerun("compare '" FORERUN_SOURCE_DIR "'/workloads/jobs/strategies/" + family + "/*.yaml " + output + " -");
}

std::map<std::string, json> rows(const std::string& family) {
  std::map<std::string, json> out;
  const json all = json::parse(compared(family, "--json").out);
  for (const json& row : all["rows"]) {
    const std::string name = std::filesystem::path(row["job"].get<std::string>()).stem();
    EXPECT_EQ(row["status"], "fits") << name;
    out[name] = row;
  }
  return out;
}

TEST(Strategies, ThePageShowsWhatTheToolPrints) {
  std::string page = content_of(kPage);
  for (const char* family : {"moe", "dense"}) {
    const std::string begin = std::string("<!-- ") + family + " -->\n";
    const std::size_t from = page.find(begin), to = page.find("<!-- end -->", from);
    ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << family;
    page.replace(from + begin.size(), to - from - begin.size(), compared(family, "--markdown").out);
  }
  if (std::getenv("FORERUN_REWRITE_GOLDEN")) std::ofstream(kPage, std::ios::binary) << page;
  EXPECT_EQ(content_of(kPage), page) << "write it anew with FORERUN_REWRITE_GOLDEN=1 ./dev test -R Strategies";
}

TEST(Strategies, WhatThePageSaysOfExpertsShardingAndPipelinesHolds) {
  const std::map<std::string, json> all = rows("moe");
  const auto number = [&](const std::string& row, const char* key) { return all.at(row).at(key).get<double>(); };
  const auto time = [&](const std::string& row) { return number(row, "step_time_s"); };
  const auto memory = [&](const std::string& row) { return number(row, "peak_bytes"); };
  const auto bubble = [&](const std::string& row) { return number(row, "bubble_fraction"); };
  const auto exposed = [&](const std::string& row) { return number(row, "exposed_s"); };

  for (const auto& [name, row] : all) {
    EXPECT_GE(time(name), 0.99 * time("ep8-deepep")) << name;
  }
  EXPECT_NEAR(time("cuda-graphs") / time("ep8-deepep"), 1, 0.02);
  EXPECT_GT(time("ep8-alltoall"), 1.3 * time("ep8-deepep"));
  EXPECT_NEAR(time("ep8-overlap") / time("ep8-alltoall"), 1, 0.02);
  EXPECT_LT(exposed("ep8-overlap"), 0.5 * exposed("ep8-alltoall"));
  EXPECT_LT(memory("ep8-overlap"), 1.05 * memory("ep8-alltoall"));
  EXPECT_LT(time("ep16-overlap"), time("ep16-alltoall"));
  EXPECT_LT(exposed("pp4-ep4-overlap"), 0.5 * exposed("pp4-ep4-interleaved"));
  EXPECT_GT(time("pp4-ep4-overlap"), time("pp4-ep4-interleaved"));
  EXPECT_GT(time("ep16-overlap"), time("ep16-deepep"));
  EXPECT_LT(memory("ep8-alltoall"), 0.55 * memory("zero-1"));
  EXPECT_GT(time("ep16-alltoall"), 1.5 * time("ep8-alltoall"));
  EXPECT_LT(time("ep16-deepep"), 1.1 * time("ep8-alltoall"));

  EXPECT_LT(time("cuda-graphs"), 0.5 * time("zero-1"));
  for (const char* narrow : {"fp8", "mxfp8", "nvfp4"}) EXPECT_GT(time(narrow), time("zero-1")) << narrow;

  EXPECT_GT(memory("ddp"), memory("zero-1"));
  EXPECT_GT(memory("zero-1"), memory("zero-2"));
  EXPECT_GT(memory("zero-2"), memory("fsdp"));
  EXPECT_LT(time("hsdp"), time("fsdp"));
  EXPECT_GT(memory("hsdp"), memory("fsdp"));
  EXPECT_GT(time("fsdp-no-prefetch"), time("fsdp"));
  EXPECT_LT(memory("pp4-zb-v-fsdp"), memory("pp4-zb-v"));

  EXPECT_NEAR(bubble("pp4-layer-split"), 0.67, 0.05);
  // Later stages gather parameters while they wait for their first input: that part of 3/19 is exposed communication.
  EXPECT_NEAR(bubble("pp4-1f1b"), 3.0 / 19, 0.04);
  EXPECT_LT(bubble("pp4-interleaved"), 0.5 * bubble("pp4-1f1b"));
  EXPECT_LT(bubble("pp4-zb-v"), 0.02);
  EXPECT_LT(memory("pp4-zb-v"), 1.1 * memory("pp4-1f1b"));
  EXPECT_NEAR(memory("pp4-zb-h2") / memory("pp4-1f1b"), 1.5, 0.1);
}

TEST(Strategies, WhatThePageSaysOfTheDenseModelHolds) {
  const std::map<std::string, json> all = rows("dense");
  const auto time = [&](const std::string& row) { return all.at(row)["step_time_s"].get<double>(); };
  const auto memory = [&](const std::string& row) { return all.at(row)["peak_bytes"].get<double>(); };
  EXPECT_GT(time("dense-tp4"), time("dense-ddp"));
  EXPECT_LT(time("dense-tp4-sp"), time("dense-tp4"));
  EXPECT_GT(time("dense-tp4-sp"), 0.9 * time("dense-tp4"));
  EXPECT_LT(memory("dense-tp4-sp"), memory("dense-tp4"));
  EXPECT_LT(memory("dense-tp4"), memory("dense-ddp"));
  EXPECT_LT(time("dense-lora"), time("dense-ddp"));
  EXPECT_LT(memory("dense-qlora"), memory("dense-lora"));
  EXPECT_GT(time("dense-qlora"), time("dense-lora"));
}

TEST(Strategies, EachJobSaysInItsFirstLineWhatItShows) {
  int jobs = 0;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(FORERUN_SOURCE_DIR "/workloads/jobs/strategies")) {
    if (!file.is_regular_file()) continue;
    EXPECT_TRUE(content_of(file.path()).starts_with("# ")) << file.path();
    ++jobs;
  }
  EXPECT_GE(jobs, 40);
}

}  // namespace
