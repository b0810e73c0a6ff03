// tests/sim/analysis/provenance_test.cpp -- every number that a prediction takes says where it is from.
// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/provenance.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "core/plan/build.h"
#include "tests/support/toy.h"

namespace {

/// Four experts on four ranks, of nodes of `per_node`.
spec::Job experts(spec::MoeDispatcher dispatcher, int per_node) {
  return toy::job({.dp = 4, .microbatches = 1}, [&](spec::Job& j) {
    j.model.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 512};
    j.strategy.ep = 4;
    j.strategy.moe_dispatcher = dispatcher;
    j.cluster.node.gpus = j.cluster.node.nvlink.domain = per_node;
    j.cluster.nodes = 4 / per_node;
    j.cluster.node.links.name = "links";
    j.cluster.node.links.experts_call = base::us(100);
    j.cluster.node.links.experts_call_source = "a table";
    j.cluster.fabric.calibration.name = "cards";
    j.cluster.fabric.calibration.experts_call = base::us(300);
    j.cluster.fabric.calibration.experts_call_source = "another table";
  });
}

/// The sources of what is told about calls of experts' exchanges, by what they are over.
std::map<std::string, std::string> calls(const spec::Job& job) {
  const std::string_view said = "calls of experts' exchanges over ";
  std::map<std::string, std::string> out;
  for (const result::Provenance& one : sim::origins(job, plan::build(job)).numbers) {
    if (!one.what.starts_with(said)) continue;
    EXPECT_EQ(one.kind, "assumed");
    out[one.what.substr(said.size())] = one.source;
  }
  return out;
}

TEST(Provenance, ALibrarysCallIsOfTheLinksThatItsExchangesCross) {
  using Dispatcher = spec::MoeDispatcher;
  using Told = std::map<std::string, std::string>;
  EXPECT_EQ(calls(experts(Dispatcher::alltoall, 4)), Told{});
  EXPECT_EQ(calls(experts(Dispatcher::deepep, 4)), (Told{{"links", "a table"}}));
  EXPECT_EQ(calls(experts(Dispatcher::deepep, 2)), (Told{{"links", "a table"}, {"cards", "another table"}}));
  EXPECT_EQ(calls(experts(Dispatcher::deepep, 1)), (Told{{"cards", "another table"}}));
}

}  // namespace
