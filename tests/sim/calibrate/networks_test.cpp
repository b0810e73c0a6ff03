// tests/sim/calibrate/networks_test.cpp -- curves of links and fabrics from tables of collectives.
// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/networks.h"

#include <gtest/gtest.h>

#include "core/config/collective_case_reader.h"
#include "core/config/network_calibration_writer.h"
#include "sim/network/closed_form.h"
#include "sim/network/collective_table.h"

namespace {

using base::GBps;
using base::us;
using Verdict = result::CurveFit::Verdict;

spec::PathCurve curve(double efficiency, double latency, double hop, double ramp) {
  spec::PathCurve c;
  c.efficiency = efficiency;
  c.latency = us(latency);
  c.hop = us(hop);
  c.ramp = base::Bytes(ramp);
  c.low_latency = {efficiency / 3, us(latency / 2), us(hop / 2)};
  return c;
}

/// A node of 8 GPUs whose links have one curve for all collectives.
config::Place toy(const spec::PathCurve& links) {
  config::Place place;
  place.gpu = "Toy";
  place.cluster.node.gpus = 8;
  place.cluster.node.nvlink = {GBps(100), 8, spec::Switch::nvswitch, false};
  spec::NetworkCalibration& path = place.cluster.node.links;
  path.name = "toylink";
  path.all_reduce = path.all_gather = path.reduce_scatter = path.all_to_all = path.send = links;
  return place;
}

/// all_gather of 2, 4 and 8 ranks, 1 KiB to 1 GiB.
config::KernelTables rows_of(const config::Place& truth) {
  config::KernelTables tables;
  const int source = tables.source("lab/a table");
  for (const int ranks : {2, 4, 8}) {
    for (std::int64_t bytes = 1024; bytes <= 1 << 30; bytes *= 2) {
      config::MeasuredCollective row{.op = "all_gather", .gpu = "Toy", .bytes = bytes, .ranks = ranks, .nodes = 1};
      const plan::Collective work{plan::CollectiveKind::all_gather, bytes, sim::group_of_nodes(truth.cluster, ranks)};
      row.time = sim::price(work, truth.cluster).time;
      row.source = source;
      tables.collectives.push_back(row);
    }
  }
  return tables;
}

std::vector<sim::CalibratableNetwork> shelf(const config::Place& place) { return {{place.cluster.node.links, true}}; }

TEST(CalibrateNetworks, GiveAKnownCurveBack) {
  const config::Place stands = toy(curve(0.5, 40, 5, 1e5));
  const config::KernelTables tables = rows_of(toy(curve(0.8, 12, 2, 5e5)));
  result::KernelCalibration report;
  const auto found = sim::calibrate_networks(tables, {stands}, shelf(stands), report);
  const spec::PathCurve& c = found.front().all_gather;
  EXPECT_NEAR(c.efficiency, 0.8, 0.008);
  EXPECT_NEAR(c.low_latency.latency / us(6), 1, 0.05);
  EXPECT_TRUE(c.measured);
  ASSERT_EQ(report.curves.size(), 1u);
  EXPECT_EQ(report.curves[0].verdict, Verdict::replaced);
  EXPECT_EQ(report.curves[0].rows, 63);  // 3 numbers of ranks, 21 sizes
  EXPECT_LT(report.curves[0].after.median_abs, 0.01);
  EXPECT_GT(report.curves[0].before.median_abs, 0.3);
  EXPECT_EQ(found.front().all_reduce.efficiency, 0.5);  // no row is of it
}

TEST(CalibrateNetworks, FourRowsFitNothingAndFiveDo) {
  const config::Place stands = toy(curve(0.5, 40, 5, 1e5));
  config::KernelTables tables = rows_of(toy(curve(0.8, 12, 2, 5e5)));
  tables.collectives.erase(tables.collectives.begin(), tables.collectives.end() - 5);  // the largest, of 8 ranks
  config::KernelTables four = tables;
  four.collectives.pop_back();
  result::KernelCalibration few, enough;
  EXPECT_EQ(sim::calibrate_networks(four, {stands}, shelf(stands), few).front().all_gather.efficiency, 0.5);
  EXPECT_EQ(few.curves.at(0).verdict, Verdict::too_few);
  EXPECT_GT(sim::calibrate_networks(tables, {stands}, shelf(stands), enough).front().all_gather.efficiency, 0.6);
  // Large rows of one number of ranks tell the efficiency alone.
  const std::vector<std::string>& kept = enough.curves.at(0).kept_constants;
  for (const char* constant : {"ramp", "latency", "hop", "low_latency.efficiency"}) {
    EXPECT_NE(std::find(kept.begin(), kept.end(), constant), kept.end()) << constant;
  }
}

TEST(CalibrateNetworks, EveryRowIsUsedOrCountedWithItsReason) {
  config::Place stands = toy(curve(0.5, 40, 5, 1e5)), refused;
  refused.below = base::Bytes(2048);
  refused.leave_out = "too small";
  config::KernelTables tables = rows_of(stands);
  tables.collectives[5].gpu = "Another";
  tables.collectives[6].ranks = 9;
  result::KernelCalibration report;
  sim::calibrate_networks(tables, {refused, stands}, shelf(stands), report);
  int left_out = 0;
  for (const auto& [why, rows] : report.left_out) left_out += rows;
  EXPECT_EQ(left_out, 5);  // three of 1 KiB, one of another GPU, one of more ranks than the node has
  EXPECT_EQ(report.curves.at(0).rows + left_out, 63);
}

TEST(CalibrateNetworks, AnAssumedCurveFollowsTheOneItWasTakenFrom) {
  const config::Place stands = toy(curve(0.5, 40, 5, 1e5));
  std::vector<sim::CalibratableNetwork> both = shelf(stands);
  sim::CalibratableNetwork slower = both.front();
  slower.calibration.name = "slower";
  slower.calibration.all_gather.efficiency = 0.25;  // at half of its pace
  both.push_back(slower);
  result::KernelCalibration report;
  const auto found = sim::calibrate_networks(rows_of(toy(curve(0.8, 12, 2, 5e5))), {stands}, both, report);
  EXPECT_NEAR(found[1].all_gather.efficiency, found[0].all_gather.efficiency / 2, 1e-4);
  EXPECT_EQ(found[1].all_gather.latency, found[0].all_gather.latency);
  EXPECT_EQ(report.followed, std::vector<std::string>{"slower all_gather: as toylink all_gather"});
}

TEST(CalibrateNetworks, TheCataloguesCurvesAreAFixedPointOfTheirRows) {
  // The 80 rows of L40S, whose curves (pcie4) are drawn to them and to nothing else.
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  const std::string root = FORERUN_SOURCE_DIR;
  config::KernelTables tables;
  const int source = tables.source("ai-dynamo/aiconfigurator");
  for (const auto& sweep :
       config::read_collective_cases(root + "/validation/collectives/aiconfigurator.yaml", catalogue)) {
    if (sweep.cluster.node.name != "l40s-x8") continue;
    for (std::size_t i = 0; i < sweep.bytes.size(); ++i) {
      config::MeasuredCollective row{
          .op = sweep.op, .gpu = "L40S", .bytes = sweep.bytes[i], .ranks = sweep.gpus, .nodes = 1};
      row.time = sweep.times[i];
      row.source = source;
      tables.collectives.push_back(row);
    }
  }
  ASSERT_EQ(tables.collectives.size(), 80u);
  config::Faults faults;
  const spec::NetworkCalibration committed = catalogue.network_calibration("pcie4", "calibration", {}, faults);
  const auto places = config::read_places(root + "/topologies/collective_places.yaml", catalogue);
  result::KernelCalibration report;
  const auto found = sim::calibrate_networks(tables, places, {{committed, true}}, report);
  EXPECT_EQ(config::network_calibration_yaml(found.front(), ""), config::network_calibration_yaml(committed, ""));
  EXPECT_EQ(report.curves.size(), 4u);
  for (const result::CurveFit& one : report.curves) EXPECT_EQ(one.verdict, Verdict::replaced) << one.family;
}

}  // namespace
