// tests/core/plan/overlap_test.cpp -- one segment of two passes: in which order tokens travel, and beside which
// kernels. SPDX-License-Identifier: Apache-2.0
#include "core/plan/overlap.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/core/plan/walk.h"

namespace {

using plan::Operator;
using plan::Phase;
using plan::Segment;
using plan::Stream;

constexpr int kLayers = 3;

plan::Plan built(int microbatches, bool beside = true, bool separate_loss = false) {
  return plan::build(toy::job({.dp = 2, .microbatches = microbatches}, [&](spec::Job& j) {
    j.framework.separate_loss = separate_loss;
    if (separate_loss) j.strategy.fused_kernels.cross_entropy = false;
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

void expect_same_bytes(const std::vector<const Segment*>& some, const std::vector<const Segment*>& others) {
  std::map<plan::Category, std::int64_t> bytes;
  for (const Segment* segment : some) {
    for (const plan::MemoryChange& change : segment->memory) bytes[change.category] += change.bytes;
  }
  for (const Segment* segment : others) {
    for (const plan::MemoryChange& change : segment->memory) bytes[change.category] -= change.bytes;
  }
  for (const auto& [category, left] : bytes) EXPECT_EQ(left, 0) << static_cast<int>(category);
}

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

/// What a microbatch takes it gives back: its forward, and its backward in the pair beside the next one's forward.
TEST(Overlap, KeepsAsMuchAsThePassesApartWhateverTheLossIs) {
  for (const bool separate_loss : {false, true}) {
    SCOPED_TRACE(separate_loss);
    const plan::Plan apart = built(4, false, separate_loss), p = built(4, true, separate_loss);
    expect_same_bytes({&named(apart, "forward"), &named(apart, "backward")}, {&both(p)});
    std::int64_t left = 0;
    for (const plan::MemoryChange& change : both(p).memory) left += change.bytes;
    EXPECT_EQ(left, 0);
  }
}

/// The walk through a segment, and the pair of two, take changes in this order and miss those that are not in it.
TEST(Overlap, MemoryOfEverySegmentIsInTheOrderOfItsOperators) {
  for (const bool separate_loss : {false, true}) {
    for (const bool beside : {false, true}) {
      for (const Segment& segment : built(4, beside, separate_loss).segments) {
        for (std::size_t i = 1; i < segment.memory.size(); ++i) {
          const plan::MemoryChange &a = segment.memory[i - 1], &b = segment.memory[i];
          EXPECT_LE(std::pair(a.at, a.after), std::pair(b.at, b.after)) << segment.name << ", change " << i;
        }
      }
    }
  }
}

TEST(Overlap, LosesNeitherAnOperatorNorAByte) {
  const plan::Plan apart = built(4, false), p = built(4);
  const Segment &f = named(apart, "forward"), &b = named(apart, "backward");
  EXPECT_EQ(both(p).operators.size(), f.operators.size() + b.operators.size());
  expect_same_bytes({&f, &b}, {&both(p)});
}

/// What each pass waits for when it runs alone it waits for in the pair.
void expect_kept(const plan::Plan& p, const Segment& f, const Segment& b) {
  const Segment pair = plan::overlap(f, b);
  for (const Segment* half : {&f, &b}) {
    walk::HappensBefore alone(p), merged(p);
    for (const Operator& op : half->operators) alone.issue(op);
    std::vector<int> place;
    for (const Operator& op : pair.operators) {
      const int at = merged.issue(op);
      if ((op.phase == Phase::forward) == (half == &f)) place.push_back(at);
    }
    const int size = static_cast<int>(half->operators.size());
    ASSERT_EQ(place.size(), half->operators.size());
    int lost = 0;
    for (int later = 0; later < size; ++later) {
      for (int earlier = 0; earlier < later; ++earlier) {
        lost += alone.before(earlier, later) && !merged.before(place[earlier], place[later]);
      }
    }
    EXPECT_EQ(lost, 0) << half->name;
  }
}

TEST(Overlap, WhatWaitsInAPassAloneWaitsInThePair) {
  using Bend = void (*)(spec::Strategy&);
  constexpr Bend bends[] = {
      [](spec::Strategy&) {},
      [](spec::Strategy& s) { s.ep = 1; },
      [](spec::Strategy& s) { s.etp = 2; },
      [](spec::Strategy& s) { s.moe_dispatcher = spec::MoeDispatcher::deepep; },
      [](spec::Strategy& s) { s.overlap.shared_expert = true; },
      [](spec::Strategy& s) { s.recompute.kind = spec::Recompute::Kind::selective; },
      [](spec::Strategy& s) { s.cp = 2; },
      [](spec::Strategy& s) { s.overlap.tp = spec::TpOverlap::wgrad; },
      [](spec::Strategy& s) { s.overlap.tp = spec::TpOverlap::chunked; },
      [](spec::Strategy& s) { s.overlap.tp = spec::TpOverlap::userbuffers; },
  };
  for (const Bend bend : bends) {
    SCOPED_TRACE(&bend - bends);
    const plan::Plan p = plan::build(toy::job({.tp = 2, .sp = true, .dp = 4, .microbatches = 4}, [&](spec::Job& j) {
      j.model.layers = kLayers;
      j.model.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 128, .shared_experts = 1, .shared_ffn = 128};
      j.strategy.ep = 2;
      bend(j.strategy);
      j.strategy.dp = 4 / j.strategy.cp;
    }));
    expect_kept(p, named(p, "forward"), named(p, "backward"));
  }
}

/// DualPipe over two stages, sharded by zero 3 over `cp` x `dp` ranks of a stage.
plan::Plan sharded(int cp, spec::CpKind kind, int dp, int shard) {
  spec::Job j = toy::job({.pp = 2, .dp = dp, .zero = 3, .microbatches = 8, .schedule = spec::Schedule::dualpipe},
                         [&](spec::Job& raw) {
                           raw.model.layers = 8;
                           raw.strategy.cp = cp;
                           raw.strategy.cp_kind = kind;
                           raw.strategy.shard = shard;
                           raw.cluster = toy::cluster(2 * dp * cp);
                         });
  return plan::build(j);
}

/// Pairs of neighbours on one communicator that no wait orders.
int unordered(const plan::Plan& p, const Segment& segment, int& neighbours) {
  walk::HappensBefore order(p);
  std::map<int, int> latest;  // of each channel
  int found = 0;
  for (const Operator& op : segment.operators) {
    const int at = order.issue(op);
    if (op.channel < 0) continue;
    const auto [it, first] = latest.try_emplace(op.channel, at);
    if (first) continue;
    ++neighbours;
    found += !order.before(it->second, at);
    it->second = at;
  }
  return found;
}

TEST(Overlap, CollectivesOfOneCommunicatorFollowOneAnotherWhateverStreamCarriesThem) {
  // Gathers of one pass and reductions of the other share the communicator of the shards. A rank that began them in
  // another order than its neighbours would wait for them, and they for it, for ever.
  using spec::CpKind;
  struct Case {
    int cp;
    CpKind kind;
    int dp, shard;
  };
  for (const auto& [cp, kind, dp, shard] :
       {Case{4, CpKind::ulysses, 4, 4}, Case{4, CpKind::all_gather, 2, 0}, Case{2, CpKind::ring, 2, 2}}) {
    SCOPED_TRACE(cp);
    const plan::Plan p = sharded(cp, kind, dp, shard);
    int neighbours = 0;
    for (const Segment& segment : p.segments) EXPECT_EQ(unordered(p, segment, neighbours), 0) << segment.name;
    EXPECT_GT(neighbours, 100);
  }
}

TEST(Overlap, NoSegmentWaitsForAnEventOfAnotherButThoseOfStreams) {
  // A pair gives its halves new events: what a later segment awaited under the old name would not be there.
  const plan::Plan p = sharded(2, spec::CpKind::ring, 2, 2);
  for (const Segment& segment : p.segments) {
    std::set<int> recorded;
    for (const Operator& op : segment.operators) {
      for (const plan::EventId event : op.waits) {
        EXPECT_TRUE(event < plan::kStreams || recorded.contains(event)) << segment.name << ": " << p.names[op.name];
      }
      if (op.records >= 0) recorded.insert(op.records);
    }
  }
}

TEST(Overlap, WeightGradientsOfExpertsRunWhileTheirTokensGoBack) {
  const plan::Plan p = built(4);
  walk::HappensBefore order(p);
  const std::vector<Operator>& ops = both(p).operators;
  for (const Operator& op : ops) order.issue(op);
  int seen = 0;
  for (int at = 0; at < static_cast<int>(ops.size()); ++at) {
    if (p.names[ops[at].name] != "expert dispatch gradient") continue;
    for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
      const bool of_experts = p.names[ops[i].name].starts_with("expert") &&
                              p.names[ops[i].name].ends_with("weight gradient") && ops[i].layer == ops[at].layer;
      if (!of_experts) continue;
      EXPECT_FALSE(order.before(i, at) || order.before(at, i)) << p.names[ops[i].name];
      ++seen;
    }
  }
  EXPECT_EQ(seen, 2 * kLayers);
}

}  // namespace
