// tests/core/plan/overlap_test.cpp -- one segment of two passes: in which order tokens travel, and beside which
// kernels. SPDX-License-Identifier: Apache-2.0
#include "core/plan/overlap.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/core/plan/walk.h"

namespace {

using plan::Operator;
using plan::Phase;
using plan::Segment;
using plan::Stream;

constexpr int kLayers = 3;

plan::Plan built(int microbatches, bool beside = true) {
  return plan::build(toy::job({.dp = 2, .microbatches = microbatches}, [&](spec::Job& j) {
    j.model.layers = kLayers;
    j.model.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 128};
    j.strategy.ep = 2;
    j.strategy.overlap.expert = beside;
  }));
}

const Segment& named(const plan::Plan& p, const std::string& name) {
  for (const Segment& segment : p.segments) {
    if (segment.name == name) return segment;
  }
  throw std::logic_error("no segment " + name);
}

const Segment& both(const plan::Plan& p) { return named(p, "backward beside forward"); }

TEST(Overlap, PassesOfAStepWithoutAPipelineAreFirstForwardPairsLastBackward) {
  const plan::Plan p = built(4);
  std::vector<std::string> names;
  for (const plan::Call& call : p.roles[0].calls) names.push_back(p.segments[call.segment].name);
  EXPECT_EQ(names.front(), "begin");
  EXPECT_EQ(names.size(), 2u + 1 + 3 + 1);
  for (int i = 2; i < 5; ++i) {
    EXPECT_EQ(names[i], "backward beside forward");
    const plan::Call& call = p.roles[0].calls[i];
    EXPECT_EQ(call.microbatch, i - 1);
    EXPECT_EQ(call.other, i - 2);
    EXPECT_EQ(call.other_chunk, 0);
  }
}

TEST(Overlap, ExchangesOfALayerTakeTheOrderOfMegatron) {
  const plan::Plan p = built(4);
  std::vector<std::string> names, expected;
  for (const Operator& op : both(p).operators) {
    if (op.stream == Stream::ep) names.push_back(p.names[op.name]);
  }
  for (int i = 0; i < kLayers; ++i) {
    for (const char* name :
         {"expert combine gradient", "expert dispatch", "expert dispatch gradient", "expert combine"})
      expected.emplace_back(name);
  }
  EXPECT_EQ(names, expected);
}

TEST(Overlap, EveryExchangeIsBesideMatmulsOfTheOtherPass) {
  const plan::Plan p = built(4);
  walk::HappensBefore order(p);
  const std::vector<Operator>& ops = both(p).operators;
  for (const Operator& op : ops) order.issue(op);
  const int size = static_cast<int>(ops.size());
  for (int at = 0; at < size; ++at) {
    if (ops[at].stream != Stream::ep) continue;
    int beside = 0;
    for (int i = 0; i < size; ++i) {
      const bool other = (ops[i].phase == Phase::forward) != (ops[at].phase == Phase::forward);
      const bool kernel = ops[i].stream == Stream::compute && std::get_if<plan::Matmul>(&p.works[ops[i].work]);
      if (other && kernel && !order.before(i, at) && !order.before(at, i)) ++beside;
    }
    EXPECT_GE(beside, 2) << p.names[ops[at].name] << " of layer " << ops[at].layer;
  }
}

TEST(Overlap, NeitherPassLosesAnOperatorAWaitOrAByte) {
  const plan::Plan apart = built(4, false), p = built(4);
  const Segment &f = named(apart, "forward"), &b = named(apart, "backward");
  EXPECT_EQ(both(p).operators.size(), f.operators.size() + b.operators.size());
  std::map<plan::Category, std::int64_t> bytes;
  for (const Segment* half : {&f, &b}) {
    for (const plan::MemoryChange& change : half->memory) bytes[change.category] += change.bytes;
  }
  for (const plan::MemoryChange& change : both(p).memory) bytes[change.category] -= change.bytes;
  for (const auto& [category, left] : bytes) EXPECT_EQ(left, 0) << static_cast<int>(category);
  // What starts behind what inside one pass alone still does, but for kernels that only stood in one stream.
  const auto orders = [](const plan::Plan& of, const Segment& segment, Phase phase) {
    walk::HappensBefore order(of);
    std::vector<int> mine;
    for (const Operator& op : segment.operators) {
      const int at = order.issue(op);
      if ((op.phase == Phase::forward) == (phase == Phase::forward)) mine.push_back(at);
    }
    std::vector<bool> out;
    for (const int later : mine) {
      for (const int earlier : mine) out.push_back(earlier < later && order.before(earlier, later));
    }
    return out;
  };
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    const std::vector<bool> alone = orders(apart, phase == Phase::forward ? f : b, phase);
    const std::vector<bool> merged = orders(p, both(p), phase);
    ASSERT_EQ(alone.size(), merged.size());
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(!alone[i] || merged[i]);
  }
}

}  // namespace
