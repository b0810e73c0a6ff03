// tests/core/plan/moe_test.cpp -- layers of experts: who holds what, what is sent, what is multiplied, what is kept.
// The toy has 128 tokens a microbatch, h = 256, two matrices an expert of inner width 512, 8 experts, 2 for each token.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/moe.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/plan/block.h"
#include "core/plan/build.h"
#include "core/plan/flops.h"
#include "core/spec/parameters.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Context;
using plan::MoeShape;

void with_experts(spec::Job& j) {
  j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512};
  j.model.bias = false;
}

template <class Change>
spec::Job toy_moe(const toy::Cut& cut, Change change) {
  return toy::job(cut, [&](spec::Job& j) {
    with_experts(j);
    change(j);
  });
}

spec::Job spread(int ep, int etp = 1, int dp = 4) {
  return toy_moe({.dp = dp}, [&](spec::Job& j) {
    j.strategy.ep = ep;
    j.strategy.etp = etp;
  });
}

std::vector<std::pair<std::string, plan::Matmul>> expert_matmuls(const spec::Job& j) {
  const plan::Plan p = plan::build(j);
  std::vector<std::pair<std::string, plan::Matmul>> out;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const auto* work = std::get_if<plan::Matmul>(&p.works[op.work]);
    if (work && op.layer == 0 && p.names[op.name].starts_with("expert")) out.push_back({p.names[op.name], *work});
  });
  return out;
}

TEST(Moe, RanksOfAnExpertGroupHoldTheModelOnceAndItsDensePartEach) {
  for (const int ep : {1, 2, 4}) {
    for (const int etp : {1, 2}) {
      if (ep * etp > 4) continue;
      const spec::Job j = spread(ep, etp);
      const Context c(j);
      plan::Held held;
      for (const auto& stage : plan::chunks_of(c)) {
        for (const plan::Chunk& chunk : stage) held += plan::chunk_parameters(c, chunk);
      }
      EXPECT_EQ(held.dense + held.experts * ep * etp, spec::parameters(j.model).total()) << ep << ' ' << etp;
    }
  }
}

TEST(Moe, LayersWithoutExpertsKeepADenseFeedForward) {
  // Dense layer: attention 4 h^2, feed-forward 8 h^2, two layernorms 4 h. With experts the feed-forward is replaced by
  // the router h x 8 and 8 experts of 2 h 512.
  const spec::Job j = toy_moe({}, [](spec::Job& job) {
    job.model.moe->every = 2;
    job.model.moe->shared_ffn = 128;
  });
  const Context c(j);
  const std::int64_t h = 256;
  EXPECT_EQ(plan::layer_parameters(c, 0), (plan::Held{12 * h * h + 4 * h, 0}));
  EXPECT_EQ(plan::layer_parameters(c, 1), (plan::Held{4 * h * h + 4 * h + 8 * h + 2 * h * 128, 8 * 2 * h * 512}));
}

TEST(Moe, ThePlainExchangeKeepsTheHostBusyOnceInEachPass) {
  // By the kernels alone a permutation is one launch, its sum's gradient another; 90 stand for all around the exchange.
  const auto launches = [](spec::MoeDispatcher dispatcher, bool recomputed) {
    const auto counted = [&](int beside) {
      const spec::Job j = toy_moe({.dp = 4}, [&](spec::Job& job) {
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

TEST(Moe, FusedExpertsLeaveTheReadOfTheActivationsGradientAlone) {
  // 128 tokens x 2 experts are 256 rows; up writes 2 x 512 numbers of each, the activation 512, down 256. Without
  // fusing: the input's cast, the activation, its cast; gradients: of down's output cast, of the activation, of up's
  // output cast. Fused: up's input and down's gradient are cast, and the activation's gradient reads 256 x 1024 numbers
  // of 2 bytes and writes them in two layouts of 1 + 1/32 bytes.
  struct Kernel {
    std::string name;
    std::int64_t bytes;
    int launches;
    bool operator==(const Kernel&) const = default;
  };
  const auto kernels = [](bool fused) {
    const spec::Job j = toy_moe({.dp = 1}, [&](spec::Job& job) {
      job.model.gated_mlp = true;
      job.model.activation = spec::Activation::swiglu;
      job.training.precision = spec::Dtype::mxfp8;
      job.cluster.node.gpu.generation = spec::Generation::blackwell;
      job.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::mxfp8)] = base::TFLOPps(4000);
      job.framework.keeps_casts = true;
      job.strategy.fused_kernels.experts = fused;
    });
    const plan::Plan p = plan::build(j);
    std::vector<Kernel> out;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const auto* work = std::get_if<plan::MemoryBound>(&p.works[op.work]);
      if (!work || op.layer != 0 || !p.names[op.name].starts_with("expert") || p.names[op.name].find("weight") < 99)
        return;
      out.push_back({p.names[op.name], work->read + work->written, op.launches});
    });
    return out;
  };
  const auto names = [&](bool fused) {
    std::vector<std::string> out;
    for (const Kernel& one : kernels(fused)) out.push_back(one.name);
    return out;
  };
  EXPECT_EQ(names(false), (std::vector<std::string>{"expert up input cast", "expert activation",
                                                    "expert down input cast", "expert down gradient cast",
                                                    "expert activation gradient", "expert up gradient cast"}));
  EXPECT_EQ(names(true), (std::vector<std::string>{"expert up input cast", "expert down gradient cast",
                                                   "expert activation gradient"}));
  const std::int64_t numbers = 256 * 1024;
  EXPECT_EQ(kernels(true)[2], (Kernel{"expert activation gradient", numbers * 2 + numbers * 2 * 33 / 32, 0}));
}

TEST(Moe, BiasesOfExpertsAreAddedAsTheFrameworkDoes) {
  // 128 tokens x 2 experts each are 256 rows on ranks that hold all 8 experts; up writes 512 numbers of each, down 256.
  struct Bytes {
    std::int64_t up = 0, down = 0, up_gradient = 0, down_gradient = 0;
    bool operator==(const Bytes&) const = default;
  };
  const auto moved = [](spec::ExpertBiases way, bool bias) {
    const spec::Job j = toy_moe({.dp = 4}, [&](spec::Job& job) {
      job.model.bias = bias;
      job.framework.expert_biases = way;
    });
    const plan::Plan p = plan::build(j);
    Bytes out;
    std::map<std::string, std::int64_t*> of{{"expert up biases added", &out.up},
                                            {"expert down biases added", &out.down},
                                            {"expert up bias gradient", &out.up_gradient},
                                            {"expert down bias gradient", &out.down_gradient}};
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const auto at = of.find(p.names[op.name]);
      if (at == of.end() || op.layer != 0) return;
      const auto& work = std::get<plan::MemoryBound>(p.works[op.work]);
      *at->second += work.read + work.written;
    });
    return out;
  };
  using spec::ExpertBiases;
  const std::int64_t up = 256 * 512, down = 256 * 256;
  EXPECT_EQ(moved(ExpertBiases::by_row, false), Bytes{});
  EXPECT_EQ(moved(ExpertBiases::fused, true), (Bytes{0, 0, 2 * up, 2 * down}));
  // In fp32 between: read 2 + 3 x 4, written 3 x 4 + 2; backward read 2 x 2 + 5 x 4, written 2 x 2 + 3 x 4.
  EXPECT_EQ(moved(ExpertBiases::by_expert, true), (Bytes{0, 28 * down, 2 * up, 40 * down}));
  // Written, read beside the rows, written with them; backward by atomics, 30 bytes a number.
  EXPECT_EQ(moved(ExpertBiases::by_row, true), (Bytes{8 * up, 8 * down, 30 * up, 30 * down}));
}

TEST(Moe, EachPassSendsEveryCopyOutAndBack) {
  // 128 tokens x 2 x 256 x 2 bytes, forward and backward, in each of four layers.
  const std::int64_t once = 128 * 2 * 256 * 2;
  const spec::Job j = spread(4);
  const plan::Plan p = plan::build(j);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "expert dispatch"), 2 * 4 * once);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "expert combine"), 2 * 4 * once);
  EXPECT_EQ(walk::count(p, p.roles[0], "expert dispatch"), 8);
}

/// Read, written and kernels of an operator of the first layer, rows of 256 numbers of 2 bytes.
std::vector<std::int64_t> rows_moved(const spec::Job& j, std::string_view name) {
  const plan::Plan p = plan::build(j);
  std::vector<std::int64_t> out;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    if (op.layer != 0 || p.names[op.name] != name || !out.empty()) return;
    const auto& work = std::get<plan::MemoryBound>(p.works[op.work]);
    out = {work.read / 512, work.written / 512, work.kernels};
  });
  return out;
}

TEST(Moe, PermutationByTheOperationWeighsAndAddsRowByRow) {
  // 128 tokens are 256 copies. Fused, each token or copy is read once, and once written what comes of it.
  using Rows = std::vector<std::int64_t>;
  spec::Job j = spread(4);
  EXPECT_EQ(rows_moved(j, "permute"), (Rows{128, 256, 1}));
  EXPECT_EQ(rows_moved(j, "unpermute"), (Rows{256, 128, 1}));
  EXPECT_EQ(rows_moved(j, "unpermute gradient"), (Rows{128, 256, 1}));
  EXPECT_EQ(rows_moved(j, "permute gradient"), (Rows{256, 128, 1}));
  // By the operation a token is read for each of its copies. At half a copy's pace: rows times shares (256 read and
  // written, twice), and added to zeros (256 and what they are added to read, 256 written, twice; 128 zeros). Backward:
  // copied out; times shares, and times rows for the shares' gradients, which are summed; then added to zeros again.
  j.strategy.fused_kernels.permute = false;
  EXPECT_EQ(rows_moved(j, "permute"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "unpermute"), (Rows{2 * 256 + 2 * 512, 2 * 256 + 2 * 256 + 128, 3}));
  EXPECT_EQ(rows_moved(j, "unpermute gradient"), (Rows{128 + 2 * 256 + 2 * 256 + 256, 256 + 2 * 256 + 256, 4}));
  EXPECT_EQ(rows_moved(j, "permute gradient"), (Rows{2 * 512, 2 * 256 + 128, 2}));
  // Where tokens are sent once, copies are made and summed where they arrive, 256 rows for 128 tokens again.
  j.strategy.moe_dispatcher = spec::MoeDispatcher::allgather;
  EXPECT_EQ(rows_moved(j, "permute"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "unpermute"), (Rows{2 * 256 + 2 * 512, 2 * 256 + 2 * 256 + 128, 3}));
  EXPECT_EQ(rows_moved(j, "permute gradient"), (Rows{2 * 512, 2 * 256 + 256, 2}));
}

TEST(Moe, PaddedRowsAreCopiedByIndexOnTheirWayToExpertsAndBack) {
  using Rows = std::vector<std::int64_t>;
  // 256 rows arrive. Joined with a row of zeros they are copied; what sorts them pads them. Back: zeros and a copy, the
  // index, and the gradient of an index, worth 13 rows of copies a row.
  spec::Job j = spread(4);
  j.framework.pads_experts = true;
  EXPECT_EQ(rows_moved(j, "pad rows"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "sort by expert"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "unsort by expert"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "unpad rows gradient"), (Rows{256, 512, 2}));
  EXPECT_EQ(rows_moved(j, "unsort by expert gradient"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "sort by expert gradient"), (Rows{6 * 256, 7 * 256, 3}));
  // Rows of one rank are in order already: the index only pads them.
  spec::Job alone = spread(1, 1, 1);
  alone.framework.pads_experts = true;
  EXPECT_EQ(rows_moved(alone, "pad rows"), (Rows{512, 512, 2}));
  EXPECT_EQ(rows_moved(alone, "unpad rows"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(alone, "unpad rows gradient"), (Rows{512, 768, 3}));
  EXPECT_EQ(rows_moved(alone, "pad rows gradient"), (Rows{6 * 256, 7 * 256, 3}));
}

TEST(Moe, TheGradientOfRowsTakenByIndexSortsTheIndices) {
  using Rows = std::vector<std::int64_t>;
  spec::Job j = spread(4);
  j.strategy.fused_kernels.permute = false;
  j.framework.rows_by_index = true;
  EXPECT_EQ(rows_moved(j, "permute"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "permute gradient"), (Rows{6 * 256, 7 * 256, 3}));
  EXPECT_EQ(rows_moved(j, "sort by expert gradient"), (Rows{6 * 256, 7 * 256, 3}));
  j.strategy.fused_kernels.permute = true;
  EXPECT_EQ(rows_moved(j, "permute gradient"), (Rows{256, 128, 1}));
  EXPECT_EQ(rows_moved(j, "sort by expert gradient"), (Rows{256, 256, 1}));
}

TEST(Moe, OneRankWithAllExpertsSendsNothing) {
  const plan::Plan p = plan::build(spread(1));
  EXPECT_EQ(walk::count(p, p.roles[0], "dispatch"), 0);
  EXPECT_EQ(walk::count(p, p.roles[0], "combine"), 0);
}

TEST(Moe, GroupedMatmulsHaveTheRowsOfOneExpert) {
  // ep 4: two experts a rank; 256 copies leave each rank and as many arrive: 128 rows for each expert.
  std::map<std::string, plan::Matmul> found;
  for (const auto& [name, work] : expert_matmuls(spread(4))) found[name] = work;
  const auto shape = [&](const char* name) {
    const plan::Matmul& w = found[name];
    return std::vector<std::int64_t>{w.m, w.n, w.k, w.batch};
  };
  EXPECT_EQ(shape("expert up"), (std::vector<std::int64_t>{128, 512, 256, 2}));
  EXPECT_EQ(shape("expert down"), (std::vector<std::int64_t>{128, 256, 512, 2}));
  EXPECT_EQ(shape("expert down input gradient"), (std::vector<std::int64_t>{128, 512, 256, 2}));
  EXPECT_EQ(shape("expert down weight gradient"), (std::vector<std::int64_t>{512, 256, 128, 2}));
  EXPECT_EQ(shape("expert up input gradient"), (std::vector<std::int64_t>{128, 256, 512, 2}));
  EXPECT_EQ(shape("expert up weight gradient"), (std::vector<std::int64_t>{256, 512, 128, 2}));
  EXPECT_TRUE(found["expert up"].grouped);
  EXPECT_TRUE(found["expert up weight gradient"].accumulates);
}

TEST(Moe, ExpertTensorParallelHalvesTheWidthAndDoublesTheRows) {
  const spec::Job j = spread(2, 2);
  const MoeShape shape{Context(j)};
  EXPECT_EQ(shape.rows, 512);
  EXPECT_EQ(shape.ffn, 256);
  EXPECT_EQ(shape.rows_per_expert, 128);  // four experts
  const plan::Plan p = plan::build(j);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "expert all-gather"), 4 * 512 * 256 * 2);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "expert reduce-scatter"), 4 * 512 * 256 * 2);
}

TEST(Moe, WhatOneExchangeBroughtIsSentOnOnlyThen) {
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

TEST(Moe, HoweverExpertsAreSpreadTheArithmeticIsTheSame) {
  // Rows divide evenly in each of these, so nothing is padded and the plan's FLOPs are the formula's.
  for (const auto& [ep, etp] : std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {4, 1}, {1, 2}, {2, 2}, {1, 4}}) {
    for (const auto kind :
         {spec::Recompute::Kind::none, spec::Recompute::Kind::full, spec::Recompute::Kind::selective_ops}) {
      const spec::Job j = toy_moe({.dp = 4, .microbatches = 2}, [&, ep = ep, etp = etp](spec::Job& job) {
        job.strategy.ep = ep;
        job.strategy.etp = etp;
        job.strategy.recompute.kind = kind;
        job.strategy.attention_kernel = spec::AttentionKernel::unfused;
        job.model.causal = false;
        job.model.moe->first_dense = 1;
        job.model.moe->shared_ffn = 256;
      });
      const plan::Plan p = plan::build(j);
      EXPECT_NEAR(walk::flops(p) / p.hardware_flops, 1, 1e-12) << ep << ' ' << etp;
    }
  }
}

TEST(Moe, ModelFlopsCountTheExpertsThatATokenVisits) {
  // Forward of one token and layer: 2 (4 h^2 + 2 experts x 2 h 512 + router 8 h).
  const spec::Job j = spread(1);
  const double h = 256;
  EXPECT_DOUBLE_EQ(plan::forward_flops(j.model, 128).linear, 128 * 2 * (4 * h * h + 2 * 2 * h * 512 + 8 * h));
}

TEST(Moe, TheHottestRankRules) {
  const spec::Job j = toy_moe({.dp = 4}, [](spec::Job& job) {
    job.strategy.ep = 4;
    job.strategy.moe_imbalance = 1.5;
  });
  const MoeShape shape{Context(j)};
  EXPECT_EQ(shape.copies, 256);
  EXPECT_EQ(shape.received, 384);
  EXPECT_EQ(shape.rows_per_expert, 192);
}

TEST(Moe, CountsOfARealRunGiveTheImbalance) {
  // Ranks of two experts: 30, 10, 10, 30 of 80 tokens; the mean is 20.
  const spec::Job j = toy_moe({.dp = 4}, [](spec::Job& job) {
    job.strategy.ep = 4;
    job.strategy.moe_routing = {25, 5, 5, 5, 6, 4, 15, 15};
  });
  EXPECT_DOUBLE_EQ(j.strategy.moe_imbalance, 1.5);
}

TEST(Moe, ACapacityPadsOrDropsWhateverTheRoutingIs) {
  const auto shape = [](double factor) {
    return MoeShape{Context(toy_moe({.dp = 4}, [&](spec::Job& job) {
      job.strategy.ep = 4;
      job.strategy.moe_imbalance = 2;
      job.strategy.moe_capacity_factor = factor;
    }))};
  };
  EXPECT_EQ(shape(1.25).rows, 320);  // 256 x 1.25, 40 for each of 8 experts
  EXPECT_EQ(shape(0.5).rows, 128);
  EXPECT_FALSE(shape(1.0).counted_by_host);
}

TEST(Moe, TheHostWaitsForTheRouterOnlyWhenItChoosesTheSizes) {
  const auto waits = [](bool capacity) {
    const plan::Plan p = plan::build(toy_moe({.dp = 4}, [&](spec::Job& job) {
      job.strategy.ep = 4;
      if (capacity) job.strategy.moe_capacity_factor = 1;
    }));
    return walk::count(p, p.roles[0], "tokens by expert");
  };
  EXPECT_EQ(waits(false), 4);
  EXPECT_EQ(waits(true), 0);
}

TEST(Moe, DeepEpSendsATokenOnceToEachDomain) {
  // 16 ranks, two nodes of 8, ep 16 would need 16 experts: of 16 experts, 2 a token, a rank has one and a node eight.
  // Chance that a node is not visited: C(8,2) / C(16,2) = 28 / 120. Nodes visited: 2 (1 - 28/120) = 23/15; half of
  // them are the other node. Ranks visited: 2.
  const spec::Job j = toy_moe({.dp = 16}, [](spec::Job& job) {
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
TEST(Moe, OnlyDeepepOutsideAWholeGraphCallsALibrary) {
  const auto by_library = [](spec::MoeDispatcher dispatcher, spec::CudaGraphs graphs) {
    const plan::Plan p = plan::build(toy_moe({.dp = 4}, [&](spec::Job& job) {
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

TEST(Moe, ATokenWhoseExpertsLieInFewGroupsVisitsFewRanks) {
  for (const int ep : {1, 2, 4, 8, 16}) {
    const spec::Job j = toy_moe({.dp = 16}, [&](spec::Job& job) {
      job.model.moe = spec::Moe{.experts = 16, .top_k = 3, .ffn = 512, .groups = 4, .top_groups = 2};
      job.strategy.ep = ep;
    });
    EXPECT_NEAR(MoeShape(Context(j)).ranks_visited, visited_by_counting(ep), 1e-12) << ep;
  }
}

TEST(Moe, AllGatherBringsEveryTokenToEveryRank) {
  const spec::Job j = toy_moe({.dp = 4}, [](spec::Job& job) {
    job.strategy.ep = 4;
    job.strategy.moe_dispatcher = spec::MoeDispatcher::allgather;
  });
  const plan::Plan p = plan::build(j);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "expert dispatch"), 2 * 4 * 128 * 4 * 256 * 2);
}

TEST(Moe, SharedExpertsComputeBesideTheExchangeWhenAsked) {
  const auto hidden = [](bool overlap) {
    const plan::Plan p = plan::build(toy_moe({.dp = 4}, [&](spec::Job& job) {
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

TEST(Moe, ALayerKeepsTheCopiesAndBothSidesOfTheActivation) {
  // ep 4, balanced: 256 rows. Inputs 256 x 256 x 2; up and activation 256 x (512 + 512) x 2; router: 128 x 8 numbers of
  // 4 bytes and a flag, 8 bytes for each copy before and behind the exchange.
  const spec::Job j = spread(4);
  const Context c(j);
  const plan::MoeActivations kept = plan::moe_activations(c);
  EXPECT_EQ(kept.inputs, 256 * 256 * 2);
  EXPECT_EQ(kept.feed_forward, 256 * 1024 * 2);
  EXPECT_EQ(kept.routing, 128 * 8 * 5 + 256 * 8 + 256 * 8);
  EXPECT_EQ(kept.shared, 0);
  EXPECT_EQ(kept.returned, 0);
  const auto block = plan::kept_activations(c, spec::Recompute::Kind::none, true);
  EXPECT_EQ(block.experts, kept.total());
  EXPECT_EQ(block.feed_forward, 0);
}

TEST(Moe, AProductByTheOperationKeepsTheResultsThatItWeighs) {
  // 256 rows of 256 numbers.
  spec::Job j = spread(4);
  j.strategy.fused_kernels.permute = false;
  EXPECT_EQ(plan::moe_activations(Context(j)).returned, 256 * 256 * 2);
}

TEST(Moe, ExpertGradientsAreReducedAmongTheHoldersOfTheSameExperts) {
  // dp 4, ep 2: each expert has two holders.
  const plan::Plan p = plan::build(spread(2));
  std::int64_t dense = 0, experts = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const plan::Collective* work = walk::collective(p, op);
    if (!work || p.names[op.name].find("gradient all-reduce") != 0) return;
    (work->group.size == 2 ? experts : dense) += work->bytes;
  });
  EXPECT_EQ(experts, 4 * 4 * 2 * 256 * 512 * 4);  // layers x experts x parameters x fp32
  EXPECT_GT(dense, 0);
}

}  // namespace
