// tests/core/plan/adapters_test.cpp -- low-rank adapters beside latent attention, experts and sharded weights: what is
// trained, gathered, reduced and held. SPDX-License-Identifier: Apache-2.0
#include "core/plan/adapters.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/plan/walk.h"

namespace {

using plan::Context;
using spec::LoraBase;

const spec::Lora all{.rank = 8, .qkv = true, .proj = true, .ffn = true};

void latent(spec::Job& j) {
  j.model.mla = spec::Mla{48, 32, 8, 16, 40};
  j.model.head_dim = 24;
  j.model.bias = false;
}
void experts(spec::Job& j) {
  j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512};
  j.model.bias = false;
}
void nothing(spec::Job&) {}
constexpr void (*kModels[])(spec::Job&) = {nothing, latent, experts, [](spec::Job& j) {
                                             latent(j);
                                             experts(j);
                                           }};

template <class Change>
spec::Job job(const toy::Cut& cut, Change change, spec::Lora lora = all) {
  return toy::job(cut, [&](spec::Job& j) {
    j.strategy.lora = lora;
    change(j);
  });
}

plan::Held layer(const spec::Job& j) { return plan::layer_parameters(Context(j), 0); }
std::int64_t resident(const plan::Plan& p, plan::Category category) {
  return p.roles[0].resident[static_cast<int>(category)];
}
std::int64_t reduced(const plan::Plan& p) {
  return walk::collective_bytes(p, p.roles[0], "gradient all-reduce") +
         walk::collective_bytes(p, p.roles[0], "gradient reduce-scatter");
}

TEST(Adapters, StandBesideEachProjectionOfLatentAttention) {
  // r (in + out): queries 256 -> 48 -> 8 x 24, keys and values 256 -> 32 + 8 and 32 -> 8 x 56, output 8 x 40 -> 256.
  const std::int64_t down = 8 * (256 + 48) + 8 * (256 + 40), up = 8 * (48 + 192) + 8 * (32 + 448),
                     output = 8 * (320 + 256);
  spec::Lora attention = all;
  attention.ffn = false;
  EXPECT_EQ(layer(job({}, latent, attention)).total(), down + up + output);
  // The projections down are whole on every tensor-parallel rank, and so are their adapters.
  const spec::Job cut = job({.tp = 2, .sp = true}, latent, attention);
  EXPECT_EQ(layer(cut).total(), down + (up + output) / 2);
  const plan::Plan p =
      plan::build(cut);  // whole adapters saw this rank's tokens: summed once a step, 4 bytes, 4 layers
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "shared weights gradient all-reduce"), 4 * 4 * down);
}

TEST(Adapters, StandBesideEachExpert) {
  // A pair of 8 (256 + 512) beside each of two matrices of 8 experts; attention 8 (256 + 768) + 8 (256 + 256).
  const std::int64_t expert = 2 * 8 * (256 + 512), attention = 8 * 1024 + 8 * 512;
  const plan::Held whole = layer(job({.dp = 4}, experts));
  EXPECT_EQ(whole.dense, attention);
  EXPECT_EQ(whole.experts, 8 * expert);
  const plan::Held spread = layer(job({.dp = 4}, [](spec::Job& j) {
    experts(j);
    j.strategy.ep = 2;
    j.strategy.etp = 2;
  }));
  EXPECT_EQ(spread.dense, attention);
  EXPECT_EQ(spread.experts, 4 * expert / 2);
}

TEST(Adapters, OfExpertsAreGroupedMatmuls) {
  const plan::Plan p = plan::build(job({}, experts));
  int found = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    if (p.names[op.name] != "expert up adapter A") return;
    // 128 tokens visit 2 of 8 experts: 32 rows each.
    EXPECT_EQ(std::get<plan::Matmul>(p.works[op.work]),
              (plan::Matmul{32, 8, 256, 8, spec::Dtype::bf16, spec::Dtype::bf16, false, true}));
    ++found;
  });
  EXPECT_EQ(found, 4);
}

TEST(Adapters, AreAllThatIsOptimizedAndReduced) {
  // Four times the rank, four times the states, the gradients and the bytes between ranks, whatever shards them.
  for (const auto& model : kModels) {
    for (const int zero : {0, 1, 2, 3}) {
      spec::Lora narrow = all, wide = all;
      narrow.base = wide.base = LoraBase::nf4;
      wide.rank = 4 * narrow.rank;
      const spec::Job few = job({.dp = 2, .zero = zero}, model, narrow);
      const plan::Plan one = plan::build(few), four = plan::build(job({.dp = 2, .zero = zero}, model, wide));
      const std::int64_t parameters = 4 * layer(few).total();
      EXPECT_EQ(resident(one, plan::Category::optimizer), 12 * parameters / (zero > 0 ? 2 : 1));
      EXPECT_EQ(resident(one, plan::Category::gradients), 4 * parameters / (zero > 1 ? 2 : 1));
      EXPECT_EQ(reduced(one), 4 * parameters);
      EXPECT_EQ(resident(four, plan::Category::optimizer), 4 * resident(one, plan::Category::optimizer));
      EXPECT_EQ(resident(four, plan::Category::gradients), 4 * resident(one, plan::Category::gradients));
      EXPECT_EQ(reduced(four), 4 * reduced(one));
    }
  }
}

TEST(Adapters, OnlyTheirsAreWeightGradients) {
  for (const auto& model : kModels) {
    for (const int zero : {0, 3}) {
      const spec::Job j = job({.dp = 2, .zero = zero}, model);
      const plan::Plan p = plan::build(j);
      const int pairs = static_cast<int>(plan::adapted_linears(Context(j), j.model.parts_in(1)).size());
      EXPECT_EQ(walk::count(p, p.roles[0], "weight gradient"), 4 * 2 * pairs);
      EXPECT_EQ(walk::count(p, p.roles[0], "adapter A weight gradient"), 4 * pairs);
      EXPECT_EQ(walk::count(p, p.roles[0], "bias gradient"), 0);
    }
  }
}

TEST(Adapters, LeaveTheirWeightGradientsToASplitBackward) {
  const spec::Job j = toy::job({.pp = 2, .microbatches = 4, .schedule = spec::Schedule::zb_h1},
                               [](spec::Job& draft) { draft.strategy.lora = all; });
  const plan::Plan p = plan::build(j);
  for (const plan::Segment& segment : p.segments) {
    bool theirs = false, others = false;
    for (const plan::Operator& op : segment.operators) {
      const bool one = p.names[op.name].find("weight gradient") != std::string::npos;
      theirs |= one;
      others |= !one && p.names[op.name].find("input gradient") != std::string::npos;
    }
    EXPECT_FALSE(theirs && others) << segment.name;
  }
}

TEST(Adapters, AUnitTravelsInTheFormatOfItsBase) {
  // Root and four blocks in the forward; in the backward all but the root and the last block, which stay. A block has
  // 12 h^2 + 13 h frozen parameters, the root is frozen in bf16.
  const std::int64_t block = 12 * 256 * 256 + 13 * 256;
  for (const LoraBase base : {LoraBase::bf16, LoraBase::int8}) {
    spec::Lora lora = all;
    lora.base = base;
    const spec::Job j = job({.dp = 2, .zero = 3}, nothing, lora);
    const Context c(j);
    const std::int64_t root = plan::embedding_held(c).frozen() + plan::last_parameters(c).frozen();
    const std::int64_t frozen = (base == LoraBase::bf16 ? 2 : 1) * block, adapters = layer(j).total();
    EXPECT_EQ(root, 2 * (2 * 2048 * 256 + 128 * 256 + 2 * 256));  // table and head, positions, final norm
    const plan::Plan p = plan::build(j);
    EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "unit all-gather"), root + 7 * (frozen + 2 * adapters));
    EXPECT_EQ(resident(p, plan::Category::parameters), (root + 4 * (frozen + 2 * adapters)) / 2);
  }
}

TEST(Adapters, AShardedBaseMayWaitOnTheHost) {
  const auto offloads = [](spec::Job& j) {
    j.strategy.offload.optimizer = j.strategy.offload.parameters = spec::Offload::To::cpu;
  };
  spec::Lora lora = all;
  lora.base = LoraBase::int8;
  const spec::Job here = job({.dp = 2, .zero = 3}, nothing, lora), away = job({.dp = 2, .zero = 3}, offloads, lora);
  const plan::Plan near = plan::build(here), far = plan::build(away);
  EXPECT_EQ(resident(far, plan::Category::parameters), 0);
  // Shards of weights; moments, master weights (12 bytes) and gradients (4) of the adapters.
  EXPECT_EQ(far.roles[0].host_bytes,
            resident(near, plan::Category::parameters) + 4 * layer(here).total() / 2 * (12 + 4));
}

TEST(Adapters, ANarrowBaseIsExpandedExpertsAndAllButTheRouter) {
  spec::Lora lora = all;
  lora.base = LoraBase::nf4;
  const plan::Plan p = plan::build(job({}, experts, lora));
  EXPECT_EQ(walk::count(p, p.roles[0], "expert up base expanded"), 2 * 4);  // forward, input gradient; layers
  EXPECT_EQ(walk::count(p, p.roles[0], "expert down base expanded"), 2 * 4);
  EXPECT_EQ(walk::count(p, p.roles[0], "router base expanded"), 0);
}

TEST(Adapters, ANarrowBaseIsCastToFp8ForEachUse) {
  for (const LoraBase base : {LoraBase::bf16, LoraBase::nf4}) {
    spec::Lora lora = all;
    lora.base = base;
    const spec::Job j = toy::job({.microbatches = 2}, [&](spec::Job& draft) {
      draft.strategy.lora = lora;
      draft.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(2000);
      draft.training.precision = spec::Dtype::fp8;
      draft.training.fp8_recipe = spec::Fp8Recipe::delayed;
      draft.framework.keeps_casts = true;
    });
    const plan::Plan p = plan::build(j);
    // Four matrices of four layers: once a step and kept, or in both passes of two microbatches.
    EXPECT_EQ(walk::count(p, p.roles[0], "weight cast"), base == LoraBase::bf16 ? 16 : 16 * 4);
  }
}

TEST(Adapters, KeepTheirInputsAndTheNarrowResult) {
  // Experts' inputs are kept for their adapters alone: 256 rows of 256 and 512 bf16 numbers.
  spec::Lora attention = all;
  attention.ffn = false;
  const auto kept = [](const spec::Job& j) {
    return plan::kept_activations(Context(j), spec::Recompute::Kind::none,
                                  spec::LayerParts{.feed_forward = spec::FeedForward::experts});
  };
  const plan::BlockActivations with = kept(job({}, experts)), without = kept(job({}, experts, attention));
  EXPECT_EQ(with.experts - without.experts, 256 * (256 + 512) * 2);
  EXPECT_EQ(with.linear_inputs - without.linear_inputs, 128 * 256 * 2 + 2 * 256 * 8 * 2);
  // Where adapters drop theirs they keep a copy, and nobody reads what it was made of.
  spec::Lora drops = all;
  drops.dropout = 0.1;
  EXPECT_EQ(with.experts - kept(job({}, experts, drops)).experts, 256 * (256 + 512) * 2);
  EXPECT_EQ(kept(job({}, experts, drops)).feed_forward, 0);
  const auto wide = [](spec::Job& j) {
    experts(j);
    j.framework.wide_adapters = true;
  };
  EXPECT_EQ(kept(job({}, wide)).experts, with.experts);  // whose adapters stay in 16 bits
}

}  // namespace
