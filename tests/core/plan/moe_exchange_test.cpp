// tests/core/plan/moe_exchange_test.cpp -- layers of experts: what is sent where, and who waits. The toy is
// toy_moe.h's. SPDX-License-Identifier: Apache-2.0
#include "core/plan/moe.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/plan/build.h"
#include "core/plan/visited.h"
#include "tests/core/plan/toy_moe.h"
#include "tests/core/plan/walk.h"

namespace {

using namespace toy_moe;
using plan::Context;
using plan::MoeShape;

TEST(MoeExchange, ThePlainExchangeKeepsTheHostBusyOnceInEachPass) {
  // By the kernels alone a permutation is one launch, its sum's gradient another; 90 stand for all around the exchange.
  const auto launches = [](spec::MoeDispatcher dispatcher, bool recomputed) {
    const auto counted = [&](int beside) {
      const spec::Job j = with({.dp = 4}, [&](spec::Job& job) {
        job.strategy.ep = 4;
        job.strategy.moe_dispatcher = dispatcher;
        job.framework.exchange_launches = beside;
        if (recomputed) job.strategy.recompute.kind = spec::Recompute::Kind::full;
      });
      const plan::Plan p = plan::build(j);
      int count = 0;
      walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
        if (op.layer == 0) count += op.launches;
      });
      return count;
    };
    return counted(90) - counted(0);
  };
  using spec::MoeDispatcher;
  EXPECT_EQ(launches(MoeDispatcher::alltoall, false), 2 * 90);  // forward, backward
  EXPECT_EQ(launches(MoeDispatcher::alltoall, true), 3 * 90);   // and once again
  EXPECT_EQ(launches(MoeDispatcher::deepep, false), 0);
  EXPECT_EQ(launches(MoeDispatcher::allgather, false), 0);
}

TEST(MoeExchange, EachPassSendsEveryCopyOutAndBack) {
  // 128 tokens x 2 x 256 x 2 bytes, forward and backward, in each of four layers.
  const std::int64_t once = 128 * 2 * 256 * 2;
  const spec::Job j = spread(4);
  const plan::Plan p = plan::build(j);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "expert dispatch"), 2 * 4 * once);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "expert combine"), 2 * 4 * once);
  EXPECT_EQ(walk::count(p, p.roles[0], "expert dispatch"), 8);
}

TEST(MoeExchange, OneRankWithAllExpertsSendsNothing) {
  const plan::Plan p = plan::build(spread(1));
  EXPECT_EQ(walk::count(p, p.roles[0], "dispatch"), 0);
  EXPECT_EQ(walk::count(p, p.roles[0], "combine"), 0);
}

TEST(MoeExchange, WhatOneExchangeBroughtIsSentOnOnlyThen) {
  // Forward: dispatch, all-gather, matmuls, reduce-scatter, combine; backward the same. Each waits for the one before.
  const plan::Plan p = plan::build(spread(2, 2));
  walk::HappensBefore order(p);
  int before = -1, checked = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const int number = order.issue(op);
    if (op.stream != plan::Stream::ep && op.stream != plan::Stream::tp) return;
    EXPECT_TRUE(before < 0 || order.before(before, number)) << p.names[op.name];
    before = number;
    ++checked;
  });
  EXPECT_EQ(checked, 4 * 8);
  EXPECT_TRUE(order.unrecorded.empty());
}

TEST(MoeExchange, TheHostWaitsForTheRouterOnlyWhenItChoosesTheSizes) {
  const auto waits = [](bool capacity, bool pads = true) {
    const plan::Plan p = plan::build(with({.dp = 4}, [&](spec::Job& job) {
      job.strategy.ep = 4;
      if (capacity) job.strategy.moe_capacity_factor = 1;
      if (!pads) job.strategy.moe_pad_to_capacity = false;
    }));
    return walk::count(p, p.roles[0], "tokens by expert");
  };
  EXPECT_EQ(waits(false), 4);
  EXPECT_EQ(waits(true), 0);
  EXPECT_EQ(waits(true, false), 4);
}

TEST(MoeExchange, CountsMayBeExchangedAndReadBehindTheRows) {
  // torchtitan: rows, counts, the host, the exchange. Experts of one rank need no counts on the host.
  const auto order = [](int ep) {
    const plan::Plan p = plan::build(with({.dp = 4}, [&](spec::Job& job) {
      job.strategy.ep = ep;
      job.framework.counts_behind_rows = true;
    }));
    std::string out;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const std::string& name = p.names[op.name];
      if (op.layer == 0 && op.phase == plan::Phase::forward && op.stream != plan::Stream::dp &&
          (name == "permute" || name == "counts of tokens" || name.starts_with("tokens by") ||
           name == "expert dispatch"))
        out += name + ", ";
    });
    return out;
  };
  EXPECT_EQ(order(4), "permute, counts of tokens, tokens by expert read by the host, expert dispatch, ");
  EXPECT_EQ(order(1), "permute, ");
}

TEST(MoeExchange, DeepEpSendsATokenOnceToEachDomain) {
  // 16 ranks, two nodes of 8, ep 16 would need 16 experts: of 16 experts, 2 a token, a rank has one and a node eight.
  // Chance that a node is not visited: C(8,2) / C(16,2) = 28 / 120. Nodes visited: 2 (1 - 28/120) = 23/15; half of
  // them are the other node. Ranks visited: 2.
  const spec::Job j = with({.dp = 16}, [](spec::Job& job) {
    job.model.moe->experts = 16;
    job.strategy.ep = 16;
    job.strategy.moe_dispatcher = spec::MoeDispatcher::deepep;
  });
  const plan::Plan p = plan::build(j);
  const plan::Collective* found = nullptr;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    if (p.names[op.name] == "expert dispatch") found = walk::collective(p, op);
  });
  ASSERT_NE(found, nullptr);
  const double row = 256 * 2 * 128;
  EXPECT_EQ(found->bytes, std::llround(2 * row));
  EXPECT_EQ(found->crossing, std::llround(23.0 / 30 * row));
  EXPECT_TRUE(found->by_library);
}

/// A captured step has the exchange's kernels alone; the other dispatchers call no library.
TEST(MoeExchange, OnlyDeepepOutsideAWholeGraphCallsALibrary) {
  const auto by_library = [](spec::MoeDispatcher dispatcher, spec::CudaGraphs graphs) {
    const plan::Plan p = plan::build(with({.dp = 4}, [&](spec::Job& job) {
      job.strategy.ep = 4;
      job.strategy.moe_dispatcher = dispatcher;
      job.strategy.cuda_graphs = graphs;
    }));
    bool any = false;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const plan::Collective* found = walk::collective(p, op);
      any |= found != nullptr && found->by_library;
    });
    return any;
  };
  EXPECT_TRUE(by_library(spec::MoeDispatcher::deepep, spec::CudaGraphs::none));
  EXPECT_FALSE(by_library(spec::MoeDispatcher::deepep, spec::CudaGraphs::whole));
  EXPECT_FALSE(by_library(spec::MoeDispatcher::alltoall, spec::CudaGraphs::none));
}

/// Mean number of `parts` equal parts of 16 experts that 3 lie in, over all choices of 2 of 4 groups and of 3 of the 8
/// experts in them.
double visited_by_counting(int parts) {
  double sum = 0, choices = 0;
  for (int first = 0; first < 4; ++first) {
    for (int second = first + 1; second < 4; ++second) {
      std::vector<int> reach;
      for (int e = 0; e < 16; ++e) {
        if (e / 4 == first || e / 4 == second) reach.push_back(e);
      }
      for (std::size_t a = 0; a < 8; ++a) {
        for (std::size_t b = a + 1; b < 8; ++b) {
          for (std::size_t c = b + 1; c < 8; ++c, ++choices) {
            const int each = 16 / parts;
            sum += static_cast<double>(std::set{reach[a] / each, reach[b] / each, reach[c] / each}.size());
          }
        }
      }
    }
  }
  return sum / choices;
}

TEST(MoeExchange, ATokenWhoseExpertsLieInFewGroupsVisitsFewRanks) {
  for (const int ep : {1, 2, 4, 8, 16}) {
    const spec::Job j = with({.dp = 16}, [&](spec::Job& job) {
      job.model.moe = spec::Moe{.experts = 16, .top_k = 3, .ffn = 512, .groups = 4, .top_groups = 2};
      job.strategy.ep = ep;
    });
    EXPECT_NEAR(visited_by_a_token(Context(j)).ranks, visited_by_counting(ep), 1e-12) << ep;
  }
}

/// Mean number of `parts` equal parts of the experts that a token meets where tokens take them in turn, `top_k` each.
double visited_in_turn(int experts, int top_k, int parts) {
  double sum = 0;
  int next = 0;
  for (int token = 0; token < experts; ++token) {
    std::set<int> met;
    for (int i = 0; i < top_k; ++i) met.insert(next++ % experts / (experts / parts));
    sum += static_cast<double>(met.size());
  }
  return sum / experts;
}

TEST(MoeExchange, ATokenWhoseExpertsAreDealtOutInTurnVisitsTheRanksOfNeighbours) {
  const auto ranks = [](int experts, int top_k, int ep) {
    return visited_by_a_token(
               Context(with({.dp = 16},
                            [&](spec::Job& job) {
                              job.model.moe = spec::Moe{
                                  .experts = experts, .top_k = top_k, .ffn = 512, .groups = 4, .top_groups = 2};
                              job.strategy.ep = ep;
                              job.strategy.moe_round_robin = true;
                            })))
        .ranks;
  };
  EXPECT_EQ(ranks(16, 2, 8), 1);    // experts 0 and 1 of the first token are rank 0's, 2 and 3 of the next rank 1's
  EXPECT_EQ(ranks(16, 4, 8), 2);    // 4 experts in a row: two ranks
  EXPECT_EQ(ranks(16, 3, 4), 1.5);  // 0-2, 3-5, 6-8, 9-11, 12-14, 15 and 0-1, ...: half of them cross a border
  for (const int top_k : {1, 2, 3, 5, 8, 16}) {
    for (const int ep : {1, 2, 4, 8, 16}) {
      EXPECT_NEAR(ranks(16, top_k, ep), visited_in_turn(16, top_k, ep), 1e-12) << top_k << " experts, ep " << ep;
    }
  }
}

TEST(MoeExchange, AllGatherBringsEveryTokenToEveryRank) {
  const spec::Job j = with({.dp = 4}, [](spec::Job& job) {
    job.strategy.ep = 4;
    job.strategy.moe_dispatcher = spec::MoeDispatcher::allgather;
  });
  const plan::Plan p = plan::build(j);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "expert dispatch"), 2 * 4 * 128 * 4 * 256 * 2);
  // All tokens of the four ranks, and the rows of the rank's experts, 128 x 2 of 256 numbers.
  EXPECT_EQ(plan::moe_exchange_bytes(plan::Context(j)), (4 * 128 + 128 * 2) * 256 * 2);
}

TEST(MoeExchange, ARoomCutsWhatTheFullestRankReceives) {
  // 8 experts of 4 ranks, room for an even share, an eighth of the choices each: of 4 : 1 : 1 : ... the first has its
  // eighth and its neighbour 1/11, 4 (1/8 + 1/11) of an even share together; all ranks 1/8 + 7/11 of the choices.
  spec::Strategy s;
  s.ep = 4;
  s.moe_routing = {4, 1, 1, 1, 1, 1, 1, 1};
  const plan::KeptChoices kept = plan::kept_choices(s, {.experts = 8, .top_k = 2}, 1);
  EXPECT_NEAR(kept.all, 1.0 / 8 + 7.0 / 11, 1e-12);
  EXPECT_NEAR(kept.fullest, 4 * (1.0 / 8 + 1.0 / 11), 1e-12);
  const auto received = [](std::vector<double> routing) {
    return plan::MoeShape(plan::Context(with({.dp = 4},
                                             [&](spec::Job& job) {
                                               job.strategy.ep = 4;
                                               job.strategy.moe_capacity_factor = 1;
                                               job.strategy.moe_pad_to_capacity = false;
                                               job.strategy.moe_routing = std::move(routing);
                                             })))
        .received;
  };
  EXPECT_EQ(received({}), 256);                        // 128 tokens at two experts each
  EXPECT_EQ(received({4, 1, 1, 1, 1, 1, 1, 1}), 222);  // 256 x 0.8636 = 221.1
}

TEST(MoeExchange, SharedExpertsComputeBesideTheExchangeWhenAsked) {
  const auto hidden = [](bool overlap) {
    const plan::Plan p = plan::build(with({.dp = 4}, [&](spec::Job& job) {
      job.strategy.ep = 4;
      job.model.moe->shared_ffn = 256;
      job.strategy.overlap.shared_expert = overlap;
    }));
    walk::HappensBefore order(p);
    int dispatch = -1, shared = -1;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const int number = order.issue(op);
      if (dispatch < 0 && p.names[op.name] == "expert dispatch") dispatch = number;
      if (shared < 0 && p.names[op.name] == "shared expert up") shared = number;
    });
    EXPECT_TRUE(order.unrecorded.empty());
    return !order.before(dispatch, shared) && !order.before(shared, dispatch);
  };
  EXPECT_TRUE(hidden(true));
  EXPECT_FALSE(hidden(false));
}

}  // namespace
