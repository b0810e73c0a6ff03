// tests/cli/fabrics_test.cpp -- keeps docs/fabrics.md what the tool prints, and its hand calculations true.
// `FORERUN_REWRITE_GOLDEN=1 ./dev test -R Fabrics` writes the tables anew. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/network/simgrid.h"
#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::content_of;
using testing_support::forerun;

const std::string kPage = FORERUN_SOURCE_DIR "/docs/fabrics.md";

/// The command that stands above a table, without its first word.
std::string command_above(const std::string& page, std::size_t table) {
  const std::string prompt = "\nforerun ";
  const std::size_t from = page.rfind(prompt, table) + prompt.size();
  return page.substr(from, page.find('\n', from) - from);
}

TEST(Fabrics, ThePageShowsWhatTheToolPrints) {
  if (!sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  std::string page = content_of(kPage);
  for (const char* table : {"pipeline", "sharded", "experts"}) {
    const std::string begin = std::string("<!-- ") + table + " -->\n";
    const std::size_t at = page.find(begin), from = at + begin.size(), to = page.find("<!-- end -->", at);
    ASSERT_TRUE(at != std::string::npos && to != std::string::npos) << table;
    page.replace(from, to - from, forerun(command_above(page, at)).out);
  }
  if (std::getenv("FORERUN_REWRITE_GOLDEN")) std::ofstream(kPage, std::ios::binary) << page;
  EXPECT_EQ(content_of(kPage), page) << "write it anew with FORERUN_REWRITE_GOLDEN=1 ./dev test -R Fabrics";
}

/// On GPUs whose kernels do not vary, so that no exchange waits for a late rank.
json on(const std::string& fabric) {
  std::string calibration = content_of(FORERUN_SOURCE_DIR "/topologies/calibrations/h800.yaml");
  const std::size_t at = calibration.find("\n  jitter: ") + 1;
  calibration.replace(at, calibration.find('\n', at) - at, "  jitter: 0");
  const testing_support::ScratchFolder scratch;
  const std::string path = scratch / "h800.yaml";
  std::ofstream(path, std::ios::binary) << calibration;
  return json::parse(forerun("predict deepseek-v3-2048xh800 --set network.fidelity=flow --json - --calibration " +
                             path + " --set cluster.fabric=" + fabric)
                         .out);
}

TEST(Fabrics, TheHandCalculationsOfThePageHold) {
  if (!sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  // 3.6290 nodes visited, 7/8 of them others, rows of 4096 x 7168 x 2 bytes; 26 us to start and 350 us of DeepEP's
  // call; slowed by 1.06. A stage of 4 layers makes
  // 1,920 exchanges, the last one, which is the busiest where the network is fast, 720.
  const double crossing = 3.629011 * 7 / 8 * 4096 * 7168 * 2, ramped = crossing + std::sqrt(crossing * 1.16e6);
  const auto exchanges = [&](double rate, int calls) { return 1.06 * calls * (ramped / (0.893 * rate) + 376e-6); };
  const json base = on("rail-400g"), half = on("rail-200g"), tree = on("fat-tree-4to1");
  const auto ep = [](const json& answer) { return answer["communication"]["ep"]["time_s"].get<double>(); };
  EXPECT_EQ(base["communication"]["ep"]["calls"], 720);
  EXPECT_EQ(half["communication"]["ep"]["calls"], 1920);
  EXPECT_NEAR(ep(base) / exchanges(50e9, 720), 1, 0.04);  // what they share the cards with
  EXPECT_NEAR(ep(half) / exchanges(25e9, 1920), 1, 0.025);
  EXPECT_NEAR(ep(tree) / exchanges(50e9 * 3 / 8, 1920), 1, 0.05);  // its leaves' uplinks carry other traffic, too

  double more = 0;  // of all that the page lists
  for (const char* part : {"exposed_ep", "exposed_pp", "exposed_dp", "bubble", "compute"}) {
    more += half["breakdown_s"][part].get<double>() - base["breakdown_s"][part].get<double>();
  }
  EXPECT_NEAR(more, half["step_time_s"].get<double>() - base["step_time_s"].get<double>(), 0.03);
}

TEST(Fabrics, ACardRunsAtTheRateOfItsPort) {
  const auto warned = [](const std::string& fabric) {
    const json answer = json::parse(
        forerun(
            "predict --model llama3-8b --node dgx-h100 --nodes 2 --sequence 4096 --global-batch 32 --zero 3 --json - "
            "--fabric " +
            fabric)
            .out);
    return answer["warnings"].dump();
  };
  EXPECT_NE(warned("rail-200g").find("rail-200g has ports of 200 Gb/s: dgx-h100's cards of 400 Gb/s run at that"),
            std::string::npos);
  EXPECT_NE(warned("rail-800g").find("rail-800g has ports of 800 Gb/s, but dgx-h100's cards of 400 Gb/s set the pace"),
            std::string::npos);
  EXPECT_EQ(warned("rail-400g").find("ports"), std::string::npos);
}

}  // namespace
