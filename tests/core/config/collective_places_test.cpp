// tests/core/config/collective_places_test.cpp -- which cluster a measured collective ran on.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/collective_places.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/fault.h"

namespace {

using config::Place;

std::vector<Place> read(const std::string& text) {
  const std::string path = testing::TempDir() + "places.yaml";
  std::ofstream(path) << text;
  return config::read_places(path, config::Catalogue(FORERUN_SOURCE_DIR));
}

config::MeasuredCollective row(const std::string& gpu, const std::string& inter, int nodes, std::int64_t bytes) {
  config::MeasuredCollective out{.op = "all_reduce", .gpu = gpu, .inter = inter};
  out.nodes = nodes;
  out.ranks = 8 * nodes;
  out.bytes = bytes;
  return out;
}

TEST(CollectivePlaces, TheFirstWhoseConditionsHold) {
  const std::vector<Place> places = read(
      "places:\n"
      "  - {gpu: H100, below: 1MiB, source: slow, leave_out: \"too small\"}\n"
      "  - {gpu: H100, inter: none, node: dgx-h100}\n"
      "  - {gpu: H100, inter: EFA, above_nodes: 2, fastest: true, node: p5}\n");
  const auto at = [&](const config::MeasuredCollective& one, const std::string& source) -> std::ptrdiff_t {
    const Place* place = config::place_of(one, source, places);
    return place == nullptr ? -1 : place - places.data();
  };
  EXPECT_EQ(at(row("H100-SXM", "", 1, 1 << 19), "a/slow b"), 0);
  EXPECT_EQ(at(row("H100-SXM", "", 1, 1 << 20), "a/slow b"), 1);  // just not below
  EXPECT_EQ(at(row("H100-SXM", "", 1, 1 << 19), "a/quick b"), 1);
  EXPECT_EQ(at(row("H100-SXM", "EFAv2", 3, 1 << 20), "a/b"), 2);
  EXPECT_EQ(at(row("H100-SXM", "EFAv2", 2, 1 << 20), "a/b"), -1);
  EXPECT_EQ(at(row("H200", "", 1, 1 << 20), "a/b"), -1);
  EXPECT_EQ(places[2].cluster.fabric.name, "efa");  // the node's own
}

TEST(CollectivePlaces, FaultsAreToldTogether) {
  try {
    read("places:\n  - {gpu: H100}\n  - {gpy: H100, node: dgx-h100}\n");
    FAIL() << "no fault";
  } catch (const base::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("places[0].node: is missing"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("did you mean gpu?"), std::string::npos) << error.what();
  }
}

TEST(CollectivePlaces, TheCataloguesOwnAreRead) {
  const std::string path = std::string(FORERUN_SOURCE_DIR) + "/topologies/collective_places.yaml";
  EXPECT_GT(config::read_places(path, config::Catalogue(FORERUN_SOURCE_DIR)).size(), 20u);
}

}  // namespace
