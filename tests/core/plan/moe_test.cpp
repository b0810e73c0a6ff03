// tests/core/plan/moe_test.cpp -- layers of experts: who holds what, what is multiplied, what is kept. The toy is
// toy_moe.h's. SPDX-License-Identifier: Apache-2.0
#include "core/plan/moe.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/plan/block.h"
#include "core/plan/build.h"
#include "core/plan/flops.h"
#include "core/spec/parameters.h"
#include "tests/core/plan/toy_moe.h"
#include "tests/core/plan/walk.h"

namespace {

using namespace toy_moe;
using plan::Context;
using plan::MoeShape;

TEST(Moe, RanksOfAnExpertGroupHoldTheModelOnceAndItsDensePartEach) {
  for (const int ep : {1, 2, 4}) {
    for (const int etp : {1, 2}) {
      if (ep * etp > 4) continue;
      const spec::Job j = spread(ep, etp);
      const Context c(j);
      const plan::Held held = held_by_stages(c);
      EXPECT_EQ(held.dense + held.experts * ep * etp, spec::parameters(j.model).total()) << ep << ' ' << etp;
    }
  }
}

TEST(Moe, LayersWithoutExpertsKeepADenseFeedForward) {
  // Dense layer: attention 4 h^2, feed-forward 8 h^2, two layernorms 4 h. With experts the feed-forward is replaced by
  // the router h x 8 and 8 experts of 2 h 512.
  const spec::Job j = with({}, [](spec::Job& job) {
    job.model.moe->every = 2;
    job.model.moe->shared_ffn = 128;
  });
  const Context c(j);
  const std::int64_t h = 256;
  EXPECT_EQ(plan::layer_parameters(c, 0), (plan::Held{12 * h * h + 4 * h, 0}));
  EXPECT_EQ(plan::layer_parameters(c, 1), (plan::Held{4 * h * h + 4 * h + 8 * h + 2 * h * 128, 8 * 2 * h * 512}));
}

TEST(Moe, HalvesOfAnExpertMayBeMatmulsOfTheirOwn) {
  // The toy's 8 experts on one rank, 2 x 512 columns: 16 products of 512 each, as many FLOPs, and gradients of the two
  // inputs are added.
  const auto job = [](bool apart) {
    return with({.dp = 1}, [&](spec::Job& j) {
      j.model.gated_mlp = true;
      j.model.bias = false;
      j.framework.separate_experts = apart;
      j.strategy.fused_kernels.activation = false;
    });
  };
  const plan::Plan joint = plan::build(job(false)), apart = plan::build(job(true));
  EXPECT_EQ(walk::flops(joint), walk::flops(apart));
  EXPECT_EQ(walk::count(joint, joint.roles[0], "expert up input gradients added"), 0);
  EXPECT_GT(walk::count(apart, apart.roles[0], "expert up input gradients added"), 0);
  int seen = 0;
  walk::operators(apart, apart.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    if (apart.names[op.name] != "expert up") return;
    const auto& product = std::get<plan::Matmul>(apart.works[op.work]);
    EXPECT_EQ(product.n, 512);
    EXPECT_EQ(product.batch, 2 * 8);
    EXPECT_EQ(op.launches, 2);
    ++seen;
  });
  EXPECT_GT(seen, 0);
}

TEST(Moe, ExpertsOfOneRankAreCastAndCopiedLikeUnitsOfMany) {
  // FSDP2 on 4 ranks with ep 4: dense weights are gathered, experts are whole. Each pass casts their fp32 masters (4 to
  // 2 bytes) and copies (2 to 2); gradients in fp32 are divided and copied.
  const spec::Job j = with({.dp = 4, .zero = 3}, [](spec::Job& job) {
    job.strategy.ep = 4;
    job.framework.unit_copies = job.framework.fp32_shards = true;
  });
  const plan::Plan p = plan::build(j);
  const std::int64_t experts = plan::layer_parameters(Context(j), 0).experts;
  ASSERT_GT(experts, 0);
  int casts = 0, sums = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const std::string& name = p.names[op.name];
    if (name != "unit cast" && name != "unit gradient copy-out") return;
    const auto& work = std::get<plan::MemoryBound>(p.works[op.work]);
    const bool cast = name == "unit cast";
    EXPECT_EQ(work.read, cast ? experts * (4 + 2) : experts * 2 * 4);
    EXPECT_EQ(work.written, cast ? experts * (2 + 2) : experts * 2 * 4);
    (cast ? casts : sums) += 1;
  });
  const int layers = static_cast<int>(j.model.layers), microbatches = static_cast<int>(Context(j).microbatches);
  EXPECT_EQ(casts, microbatches * (2 * layers - 1));  // the last block stays for its backward
  EXPECT_EQ(sums, microbatches * layers);
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
    const spec::Job j = with({.dp = 1}, [&](spec::Job& job) {
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

TEST(Moe, FusedExpertsAddTheirBiasesAndSumUpTheirGradients) {
  // 256 rows of 256 numbers: the gradient of down's biases, and of the shares that weigh them, is one kernel that reads
  // the rows' gradients; what up's need comes of the kernel that makes its outputs' gradients.
  const auto of_biases = [](bool fused) {
    const plan::Plan p = plan::build(with({.dp = 1}, [&](spec::Job& job) {
      job.model.gated_mlp = true;
      job.model.activation = spec::Activation::clamped_swiglu;
      job.model.bias = true;
      job.training.precision = spec::Dtype::mxfp8;
      job.cluster.node.gpu.generation = spec::Generation::blackwell;
      job.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::mxfp8)] = base::TFLOPps(4000);
      job.framework.keeps_casts = true;
      job.framework.expert_biases = spec::ExpertBiases::by_expert;
      job.strategy.fused_kernels.experts = fused;
    }));
    std::map<std::string, std::int64_t> out;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const std::string& name = p.names[op.name];
      const auto* work = std::get_if<plan::MemoryBound>(&p.works[op.work]);
      if (!work || op.layer != 0 || !name.starts_with("expert") || name.find("bias") == name.npos) return;
      out[name] = work->read + work->written;
    });
    return out;
  };
  using Bytes = std::map<std::string, std::int64_t>;
  EXPECT_EQ(of_biases(true), (Bytes{{"expert down bias gradient", 256 * 256 * 2}}));
  EXPECT_EQ(of_biases(false), (Bytes{{"expert down biases added", 256 * 256 * (2 + 12 + 12 + 2)},
                                     {"expert down bias gradient", 256 * 256 * (4 + 20 + 4 + 12)},
                                     {"expert up bias gradient", 256 * 1024 * 2}}));
}

TEST(Moe, GradientsOfWhatReadsTheLayersInputAreAdded) {
  // 128 tokens of 256 numbers in 16 bits: the router's and the routed experts' are read and their sum written; shared
  // experts' are read, and that sum again, and theirs written.
  const auto moved = [](int shared) {
    const plan::Plan p = plan::build(with({.dp = 1}, [&](spec::Job& j) {
      j.model.moe->shared_experts = shared;
      j.model.moe->shared_ffn = shared * 512;
    }));
    std::pair<std::int64_t, int> out;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      if (op.layer != 0 || p.names[op.name] != "routed branches gradient") return;
      const auto& work = std::get<plan::MemoryBound>(p.works[op.work]);
      out = {work.read + work.written, op.launches};
    });
    return out;
  };
  const std::int64_t row = 128 * 256 * 2;
  EXPECT_EQ(moved(0), std::pair(3 * row, 1));
  EXPECT_EQ(moved(1), std::pair(6 * row, 2));
}

TEST(Moe, BiasesOfExpertsAreAddedAsTheFrameworkDoes) {
  // 128 tokens x 2 experts each are 256 rows on ranks that hold all 8 experts; up writes 512 numbers of each, down 256.
  struct Bytes {
    std::int64_t up = 0, down = 0, up_gradient = 0, down_gradient = 0;
    bool operator==(const Bytes&) const = default;
  };
  const auto moved = [](spec::ExpertBiases way, bool bias) {
    const spec::Job j = with({.dp = 4}, [&](spec::Job& job) {
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

TEST(Moe, HoweverExpertsAreSpreadTheArithmeticIsTheSame) {
  // Rows divide evenly in each of these, so nothing is padded and the plan's FLOPs are the formula's.
  for (const auto& [ep, etp] : std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {4, 1}, {1, 2}, {2, 2}, {1, 4}}) {
    for (const auto kind :
         {spec::Recompute::Kind::none, spec::Recompute::Kind::full, spec::Recompute::Kind::selective_ops}) {
      const spec::Job j = with({.dp = 4, .microbatches = 2}, [&, ep = ep, etp = etp](spec::Job& job) {
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
  const spec::Job j = with({.dp = 4}, [](spec::Job& job) {
    job.strategy.ep = 4;
    job.strategy.moe_imbalance = 1.5;
  });
  const MoeShape shape{Context(j)};
  EXPECT_EQ(shape.copies, 256);
  EXPECT_EQ(shape.received, 384);
  EXPECT_EQ(shape.rows_per_expert, 192);
}

TEST(Moe, FewTokensChooseFewExperts) {
  // 2 of 8 experts: a token leaves each alone with chance 3/4. n tokens meet 8 (1 - 0.75^n): 2, 3.5, 5.47, 7.2, 7.92.
  // Dealt out in turn they are 2n. On two ranks n tokens of each choose among all, half of which each rank has.
  const auto met = [](int tokens, bool in_turn, int ep) {
    return MoeShape{Context(with({.dp = ep},
                                 [&](spec::Job& job) {
                                   job.training.mode = spec::Mode::decode;
                                   job.training.micro_batch = tokens;
                                   job.training.global_batch = tokens * ep;
                                   job.strategy.moe_round_robin = in_turn;
                                   job.strategy.ep = ep;
                                 }))}
        .experts;
  };
  EXPECT_EQ(met(1, false, 1), 2);
  EXPECT_EQ(met(2, false, 1), 4);
  EXPECT_EQ(met(4, false, 1), 5);
  EXPECT_EQ(met(8, false, 1), 7);
  EXPECT_EQ(met(16, false, 1), 8);
  EXPECT_EQ(met(3, true, 1), 6);
  EXPECT_EQ(met(4, true, 1), 8);
  EXPECT_EQ(met(2, false, 2), 3);  // 5.47 of 8
}

TEST(Moe, CountsOfARealRunGiveTheImbalance) {
  // Ranks of two experts: 30, 10, 10, 30 of 80 tokens; the mean is 20.
  const spec::Job j = with({.dp = 4}, [](spec::Job& job) {
    job.strategy.ep = 4;
    job.strategy.moe_routing = {25, 5, 5, 5, 6, 4, 15, 15};
  });
  EXPECT_DOUBLE_EQ(j.strategy.moe_imbalance, 1.5);
}

TEST(Moe, ACapacityPadsOrDropsWhateverTheRoutingIs) {
  const auto shape = [](double factor) {
    return MoeShape{Context(with({.dp = 4}, [&](spec::Job& job) {
      job.strategy.ep = 4;
      job.strategy.moe_imbalance = 2;
      job.strategy.moe_capacity_factor = factor;
    }))};
  };
  EXPECT_EQ(shape(1.25).rows, 320);  // 256 x 1.25, 40 for each of 8 experts
  EXPECT_EQ(shape(0.5).rows, 128);
  EXPECT_FALSE(shape(1.0).counted_by_host);
}

TEST(Moe, ACapacityThatIsNotPaddedOnlyDrops) {
  const auto shape = [](double factor, double imbalance) {
    return MoeShape{Context(with({.dp = 4}, [&](spec::Job& job) {
      job.strategy.ep = 4;
      job.strategy.moe_imbalance = imbalance;
      job.strategy.moe_capacity_factor = factor;
      job.strategy.moe_pad_to_capacity = false;
    }))};
  };
  EXPECT_EQ(shape(1.25, 1).rows, 256);    // all copies of 128 tokens
  EXPECT_EQ(shape(0.5, 1).rows, 128);     // 16 rows of a rank's tokens for each of 8 experts
  EXPECT_EQ(shape(1.25, 1.1).rows, 282);  // 256 x 1.1, of the hottest rank
  EXPECT_EQ(shape(1.25, 2).rows, 320);    // which has room for 256 x 1.25
  EXPECT_EQ(shape(1.25, 2).copies, 256);
  EXPECT_TRUE(shape(1.25, 1).counted_by_host);
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
  const auto block = plan::kept_activations(c, spec::Recompute::Kind::none,
                                            spec::LayerParts{.feed_forward = spec::FeedForward::experts});
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
