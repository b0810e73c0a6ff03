// tests/core/plan/low_precision_test.cpp -- training below 16 bits: what is narrow, what is cast and how often.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/low_precision.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "core/plan/block.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Context;
using spec::Dtype;

/// The toy's GPU with fp8, mxfp8 and nvfp4 at twice and four times its pace.
void enable(spec::Job& j, Dtype precision) {
  auto& peak = j.cluster.node.gpu.peak;
  peak[static_cast<int>(Dtype::fp8)] = peak[static_cast<int>(Dtype::mxfp8)] = base::TFLOPps(2000);
  peak[static_cast<int>(Dtype::nvfp4)] = base::TFLOPps(4000);
  j.training.precision = precision;
}

template <class Change>
spec::Job job(const toy::Cut& cut, Dtype precision, Change change) {
  return toy::job(cut, [&](spec::Job& j) {
    enable(j, precision);
    change(j);
  });
}
spec::Job narrow_job(const toy::Cut& cut = {}, Dtype precision = Dtype::fp8) {
  return job(cut, precision, [](spec::Job&) {});
}
spec::Job with_recipe(spec::Fp8Recipe recipe, const toy::Cut& cut = {}) {
  return job(cut, Dtype::fp8, [&](spec::Job& j) { j.training.fp8_recipe = recipe; });
}

TEST(LowPrecision, MatmulsOfBlocksAreNarrowAndThoseOfTheHeadAreNot) {
  const plan::Plan p = plan::build(narrow_job({.tp = 2, .sp = true}));
  int narrow = 0, wide = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const auto* work = std::get_if<plan::Matmul>(&p.works[op.work]);
    if (!work) return;
    EXPECT_EQ(work->dtype, op.layer >= 0 ? Dtype::fp8 : Dtype::bf16) << p.names[op.name];
    // Only gradients of 8-bit operands promote their partial sums.
    EXPECT_EQ(work->gradient, op.layer >= 0 && op.phase == plan::Phase::backward) << p.names[op.name];
    ++(op.layer >= 0 ? narrow : wide);
  });
  EXPECT_EQ(narrow, 4 * 4 * 3);  // layers, linear layers, forward and both gradients
  EXPECT_EQ(wide, 3);
}

TEST(LowPrecision, AttentionInFp8CastsWhatItReadsAndKeepsItSo) {
  // 128 tokens of 8 heads of 32 numbers: queries, keys and values are 3 x 32,768, the output's gradient as many as one.
  // With one scale a tensor the largest number is looked for first. The first and the last of four layers stay wide.
  const auto in_fp8 = [](bool attention, spec::Fp8Recipe recipe, spec::Recompute recompute = {}) {
    return job({.recompute = recompute}, Dtype::fp8, [&](spec::Job& j) {
      j.training.fp8_attention = attention;
      j.training.fp8_recipe = recipe;
      j.training.wide_layers = {1, 1};
      j.cluster.node.gpu.generation = spec::Generation::blackwell;
      j.strategy.attention_kernel = spec::AttentionKernel::cudnn;
      j.framework.keeps_casts = true;
    });
  };
  const spec::Job narrow = in_fp8(true, spec::Fp8Recipe::tensorwise);
  const plan::Plan p = plan::build(narrow);
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const auto* work = std::get_if<plan::Attention>(&p.works[op.work]);
    if (!work) return;
    EXPECT_EQ(work->dtype, op.layer == 1 || op.layer == 2 ? Dtype::fp8 : Dtype::bf16) << op.layer;
  });
  EXPECT_EQ(walk::count(p, p.roles[0], "attention input cast"), 2);
  EXPECT_EQ(walk::count(p, p.roles[0], "attention gradient cast"), 2);

  const auto moved = [](const spec::Job& j, bool backward) {
    walk::Pen pen;
    pen.out.layer = 1;
    const Context c(j);
    plan::cast_for_attention(c, pen.out, backward);
    const auto work = std::get<plan::MemoryBound>(pen.work(plan::SegmentBuilder(pen.out).finish().operators.front()));
    return std::pair(work.read, work.written);
  };
  EXPECT_EQ(moved(narrow, false), std::pair(std::int64_t{2 * 2 * 98'304}, std::int64_t{98'304}));
  EXPECT_EQ(moved(narrow, true), std::pair(std::int64_t{2 * 2 * 32'768}, std::int64_t{32'768}));
  const spec::Job delayed = in_fp8(true, spec::Fp8Recipe::delayed);
  EXPECT_EQ(moved(delayed, false), std::pair(std::int64_t{2 * 98'304}, std::int64_t{98'304}));

  const auto kept = [](const spec::Job& j) {
    return plan::kept_activations(Context(j), j.strategy.recompute.kind).qkv;
  };
  // A byte less for each number, in the two of four layers that are narrow.
  EXPECT_EQ(kept(in_fp8(false, spec::Fp8Recipe::delayed)) - kept(delayed), 98'304 / 2);
  // Attention that is run again keeps what is cast anew.
  const spec::Recompute again{.kind = spec::Recompute::Kind::selective, .modules = {.core_attn = true}};
  EXPECT_EQ(kept(in_fp8(false, spec::Fp8Recipe::delayed, again)), kept(in_fp8(true, spec::Fp8Recipe::delayed, again)));
}

TEST(LowPrecision, WideLayersStayIn16Bits) {
  const spec::Job j = job({}, Dtype::nvfp4, [](spec::Job& job) { job.training.wide_layers = {1, 2}; });
  const Context c(j);
  for (int layer = -1; layer < 4; ++layer) EXPECT_EQ(plan::narrow(c, layer), layer == 1) << layer;
  EXPECT_EQ(walk::count(plan::build(j), plan::build(j).roles[0], "qkv gradient cast"), 1);
}

TEST(LowPrecision, CastsReadAndWriteWhatTheirScalesAsk) {
  // 3,200 numbers of two bytes to two layouts of one byte.
  const auto cast = [](const spec::Job& j) { return plan::cast_chain(Context(j), 3200, 2).work; };
  EXPECT_EQ(cast(with_recipe(spec::Fp8Recipe::delayed)).read, 6400);
  EXPECT_EQ(cast(with_recipe(spec::Fp8Recipe::delayed)).written, 6400);
  EXPECT_EQ(cast(with_recipe(spec::Fp8Recipe::delayed)).kernels, 1);
  EXPECT_EQ(cast(with_recipe(spec::Fp8Recipe::tensorwise)).read, 2 * 6400);  // once more for the largest
  EXPECT_EQ(cast(with_recipe(spec::Fp8Recipe::tensorwise)).written, 6400);
  EXPECT_EQ(cast(with_recipe(spec::Fp8Recipe::rowwise)).read, 3 * 6400);  // columns: the largest first, then the cast
  EXPECT_EQ(cast(with_recipe(spec::Fp8Recipe::blockwise)).read, 6400);
  EXPECT_EQ(cast(with_recipe(spec::Fp8Recipe::blockwise)).written, 6400 + 2 * 3200 / 128 * 4);
  EXPECT_EQ(cast(narrow_job({}, Dtype::mxfp8)).read, 6400 + 200);           // 100 scales a layout, put in tiles
  EXPECT_EQ(cast(narrow_job({}, Dtype::mxfp8)).written, 6400 + 200 + 200);  // written twice so
  EXPECT_EQ(cast(narrow_job({}, Dtype::nvfp4)).read, 3 * 6400 + 400);       // largest, two layouts; 200 scales each
  EXPECT_EQ(cast(narrow_job({}, Dtype::nvfp4)).written, 3200 + 400 + 400);
}

// Two bytes read, and written again, for each number of a result.
TEST(LowPrecision, RowwiseGradientsAreScaledByKernelsOfTheirOwnWhereTheFrameworkDoesSo) {
  spec::Job j = with_recipe(spec::Fp8Recipe::rowwise);
  EXPECT_EQ(walk::count(plan::build(j), plan::build(j).roles[0], "qkv input gradient scaled"), 0);
  j.framework.rescales_rows = true;
  const plan::Plan p = plan::build(j);
  const Context c(j);
  const auto read = [&](std::string_view name) {
    std::int64_t bytes = 0;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      if (p.names[op.name] == name) bytes = std::get<plan::MemoryBound>(p.works[op.work]).read;
    });
    return bytes;
  };
  EXPECT_EQ(read("qkv input gradient scaled"), c.tokens * c.hidden * 2);
  EXPECT_EQ(read("feed-forward down weight gradient scaled"), c.hidden * j.model.ffn * 2);
  j.training.fp8_recipe = spec::Fp8Recipe::tensorwise;
  EXPECT_EQ(walk::count(plan::build(j), plan::build(j).roles[0], "qkv input gradient scaled"), 0);
}

TEST(LowPrecision, WeightsAreCastOnceAStepWhereCastsAreKeptElseInEachPass) {
  const auto casts = [](bool keeps) {
    const plan::Plan p =
        plan::build(job({.microbatches = 3}, Dtype::fp8, [=](spec::Job& j) { j.framework.keeps_casts = keeps; }));
    return walk::count(p, p.roles[0], "weight cast");
  };
  EXPECT_EQ(casts(true), 4 * 4);
  EXPECT_EQ(casts(false), 4 * 4 * 3 * 2);
}

TEST(LowPrecision, TheRecipeLeftOutFollowsTheFramework) {
  EXPECT_EQ(narrow_job().training.fp8_recipe, spec::Fp8Recipe::delayed);
  const spec::Job anew = job({}, Dtype::fp8, [](spec::Job& j) { j.framework.keeps_casts = false; });
  EXPECT_EQ(anew.training.fp8_recipe, spec::Fp8Recipe::tensorwise);
}

TEST(LowPrecision, SequenceParallelGathersAByteAnElement) {
  const toy::Cut cut{.tp = 2, .sp = true};
  const plan::Plan wide = plan::build(toy::job(cut)), narrow = plan::build(narrow_job(cut));
  for (const char* gather : {"qkv all-gather", "qkv input all-gather", "feed-forward down gradient all-gather"}) {
    const std::int64_t bytes = walk::collective_bytes(wide, wide.roles[0], gather);
    EXPECT_GT(bytes, 0) << gather;
    EXPECT_EQ(2 * walk::collective_bytes(narrow, narrow.roles[0], gather), bytes) << gather;
  }
  const std::int64_t sums = walk::collective_bytes(wide, wide.roles[0], "down reduce-scatter");
  EXPECT_EQ(walk::collective_bytes(narrow, narrow.roles[0], "down reduce-scatter"), sums);
}

TEST(LowPrecision, OneScaleForAScatteredTensorIsAgreedUpon) {
  // The inputs of qkv and up, the gradients of output and down are shards: four agreements a layer, and none without
  // sp.
  const auto agreements = [](bool sp, spec::Fp8Recipe recipe) {
    const plan::Plan p = plan::build(with_recipe(recipe, {.tp = 2, .sp = sp}));
    return walk::count(p, p.roles[0], "largest all-reduce");
  };
  EXPECT_EQ(agreements(true, spec::Fp8Recipe::tensorwise), 4 * 4);
  EXPECT_EQ(agreements(false, spec::Fp8Recipe::tensorwise), 0);
  EXPECT_EQ(agreements(true, spec::Fp8Recipe::delayed), 0);
}

TEST(LowPrecision, GatheredInputsThatWereKeptAreTurnedForTheWeightGradient) {
  // Those of qkv and up, in each of 4 layers: behind a second gather, or as they were kept; where casts are not kept, a
  // cast to that layout takes the place of the turning.
  const auto turned = [](bool gathered, bool casts) {
    const plan::Plan p = plan::build(job({.tp = 2, .sp = true}, Dtype::fp8, [=](spec::Job& j) {
      j.training.fp8_recipe = spec::Fp8Recipe::delayed;
      j.framework.keeps_gathered = gathered;
      j.framework.keeps_casts = casts;
    }));
    const auto both = [&](const std::string& what) {
      return walk::count(p, p.roles[0], "qkv " + what) + walk::count(p, p.roles[0], "feed-forward up " + what);
    };
    return std::pair(both("input transpose"), both("input all-gather"));
  };
  EXPECT_EQ(turned(false, true), std::pair(2 * 4, 2 * 4));
  EXPECT_EQ(turned(true, true), std::pair(2 * 4, 0));
  EXPECT_EQ(turned(true, false), std::pair(0, 0));
}

TEST(LowPrecision, BlackwellNeedsNoTransposeOfWhatHasOneScale) {
  const auto layouts = [](spec::Generation g, Dtype precision) {
    return plan::weight_layouts(Context(job({}, precision, [=](spec::Job& j) { j.cluster.node.gpu.generation = g; })));
  };
  EXPECT_EQ(layouts(spec::Generation::hopper, Dtype::fp8), 2);
  EXPECT_EQ(layouts(spec::Generation::blackwell, Dtype::fp8), 1);
  EXPECT_EQ(layouts(spec::Generation::blackwell, Dtype::mxfp8), 2);
}

TEST(LowPrecision, KeptCastsTakeMemoryForWeightsAndSaveItForActivations) {
  const auto held = [](const spec::Job& j) {
    return plan::build(j).roles[0].resident[static_cast<int>(plan::Category::parameters)];
  };
  // Two bytes more for each weight and bias of the linear layers: 12 h^2 and 9 h a layer, h = 256.
  EXPECT_EQ(held(narrow_job()) - held(toy::job()), 4 * 2 * (12 * 256 * 256 + 9 * 256));
  // b = 1, tokens x h = 128 x 256: two inputs and four widths of the feed-forward lose a byte, the attention's result
  // is kept in both formats.
  const auto kept = [](const spec::Job& j) {
    return plan::kept_activations(Context(j), spec::Recompute::Kind::none).total();
  };
  EXPECT_EQ(kept(toy::job()) - kept(narrow_job()), (2 + 4 - 1) * 128 * 256);
}

TEST(LowPrecision, BothInputsOfExpertsAreKeptNarrow) {
  // 128 tokens x top 2 = 256 rows; inputs of the grouped matmuls, h = 256 and 512 wide, lose a byte a number.
  const auto kept = [](Dtype precision) {
    const spec::Job j =
        job({}, precision, [](spec::Job& j) { j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512}; });
    return plan::kept_activations(Context(j), spec::Recompute::Kind::none,
                                  spec::LayerParts{.feed_forward = spec::FeedForward::experts})
        .experts;
  };
  EXPECT_EQ(kept(Dtype::bf16) - kept(Dtype::fp8), 256 * (256 + 512));
}

TEST(LowPrecision, ARouterStaysIn16Bits) {
  const spec::Job j =
      job({}, Dtype::fp8, [](spec::Job& j) { j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512}; });
  const plan::Plan plan = plan::build(j);
  int matmuls = 0;
  for (const plan::Segment& segment : plan.segments) {
    for (const plan::Operator& op : segment.operators) {
      const std::string& name = plan.names[op.name];
      if (!name.starts_with("router")) continue;
      EXPECT_FALSE(name.ends_with("cast")) << name;
      const auto* product = std::get_if<plan::Matmul>(&plan.works[op.work]);
      if (product == nullptr) continue;
      ++matmuls;
      EXPECT_EQ(product->dtype, Dtype::bf16) << name;
    }
  }
  EXPECT_GE(matmuls, 3);  // forward, and the gradients of inputs and weights
}

/// Weights in the narrow format alone, beside those with 16-bit ones, of which a gather moves `fewer` sixteenths of a
/// byte more for each.
void expect_alone(Dtype precision, std::int64_t fewer) {
  const auto plan = [&](bool alone) {
    return plan::build(job({.dp = 2, .zero = 1}, precision, [=](spec::Job& j) { j.training.fp8_parameters = alone; }));
  };
  const plan::Plan alone = plan(true), copies = plan(false);
  const auto gathered = [](const plan::Plan& p) {
    return walk::collective_bytes(p, p.roles[0], "parameter all-gather");
  };
  const auto held = [](const plan::Plan& p) {
    return p.roles[0].resident[static_cast<int>(plan::Category::parameters)];
  };
  constexpr std::int64_t layers = 4 * (12 * 256 * 256 + 13 * 256);  // 12 h^2 + 13 h parameters each
  EXPECT_EQ(gathered(copies) - gathered(alone), layers * fewer / 16);
  EXPECT_EQ(held(copies) - held(alone), 2 * layers);  // the layouts that matmuls read are there either way
  EXPECT_EQ(walk::count(alone, alone.roles[0], "weight cast"), 0);
  EXPECT_EQ(walk::count(alone, alone.roles[0], "weight transpose"), 4 * 4);
}

TEST(LowPrecision, WeightsInTheNarrowFormatAloneAreGatheredSoAndTakeTheirPlace) {
  expect_alone(Dtype::fp8, 16);    // one byte, not two
  expect_alone(Dtype::nvfp4, 23);  // half a byte and a sixteenth of scales
}

TEST(LowPrecision, WideLayersKeepTheirInputsWide) {
  // Two of four layers in bf16 keep as much as in bf16, the others as much as in fp8.
  const auto kept = [](Dtype precision, int wide) {
    const Context c(job({}, precision, [=](spec::Job& j) { j.training.wide_layers = {wide, 0}; }));
    std::int64_t bytes = 0;
    for (int layer = 0; layer < 4; ++layer)
      bytes += plan::kept_activations(c, spec::Recompute::Kind::none, {}, plan::narrow(c, layer)).total();
    return bytes;
  };
  EXPECT_LT(kept(Dtype::fp8, 0), kept(Dtype::bf16, 0));
  EXPECT_EQ(2 * kept(Dtype::fp8, 2), kept(Dtype::fp8, 0) + kept(Dtype::bf16, 0));
}

TEST(LowPrecision, FrozenWeightsInFp8AloneLieInOneLayoutAndAreTurnedForInputGradients) {
  // One byte for each of a layer's parameters, not two; four linear layers of four layers are turned in each of three
  // microbatches, the first layer's qkv too, whose adapter's gradient needs none, but whose input has one.
  const auto plan = [](bool frozen) {
    return plan::build(job({.microbatches = 3}, Dtype::fp8, [=](spec::Job& j) {
      j.training.fp8_parameters = true;
      if (frozen) j.strategy.lora = spec::Lora{.rank = 8, .qkv = true};
    }));
  };
  const auto held = [](const plan::Plan& p) {
    return p.roles[0].resident[static_cast<int>(plan::Category::parameters)];
  };
  const plan::Plan trained = plan(false), frozen = plan(true);
  constexpr std::int64_t linears = 4 * 12 * 256 * 256, adapters = 4 * (256 * 8 + 8 * 768);
  EXPECT_NEAR(held(trained) - held(frozen), linears - 2 * adapters, 4 * 13 * 256 * 2);  // norms and biases
  EXPECT_EQ(walk::count(trained, trained.roles[0], "weight transpose"), 4 * 4);
  EXPECT_EQ(walk::count(frozen, frozen.roles[0], "weight transpose"), 3 * 4 * 4);
}

TEST(LowPrecision, ShardsThatAreMastersAreGatheredAsCodesAndTurnedForTheInputsGradients) {
  const toy::Cut cut{.dp = 2, .zero = 3};
  const auto plan = [&](bool codes) {
    return plan::build(job(cut, Dtype::fp8, [=](spec::Job& j) {
      j.framework.keeps_casts = false;
      j.framework.fp32_shards = true;
      j.training.fp8_recipe = spec::Fp8Recipe::tensorwise;
      j.training.fp8_parameters = codes;
    }));
  };
  const plan::Plan codes = plan(true), wide = plan(false);
  const auto gathered = [](const plan::Plan& p) { return walk::collective_bytes(p, p.roles[0], "unit all-gather"); };
  // 4 layers of 12 h^2 + 13 h parameters, a byte less each; the last one is there when the backward begins with it.
  constexpr std::int64_t layer = 12 * 256 * 256 + 13 * 256;
  EXPECT_EQ(gathered(wide) - gathered(codes), 7 * layer);
  EXPECT_EQ(codes.roles[0].resident, wide.roles[0].resident);             // the same masters
  EXPECT_EQ(walk::count(wide, wide.roles[0], "weight cast"), 2 * 4 * 4);  // passes, layers, linears
  EXPECT_EQ(walk::count(codes, codes.roles[0], "weight cast"), 0);
  EXPECT_EQ(walk::count(codes, codes.roles[0], "weight transpose"), 4 * 4);
}

// torchao's Float8Linear stands for nn.Linear, not for grouped experts, which also need no gather where each rank has
// its own.
TEST(LowPrecision, ExpertsOfSuchShardsAreCastAsBefore) {
  const plan::Plan p = plan::build(job({.dp = 2, .zero = 3}, Dtype::fp8, [](spec::Job& j) {
    j.framework.keeps_casts = false;
    j.framework.fp32_shards = true;
    j.training.fp8_recipe = spec::Fp8Recipe::tensorwise;
    j.training.fp8_parameters = true;
    j.model.moe = {.experts = 4, .top_k = 2, .ffn = 512};
    j.strategy.ep = 2;
  }));
  EXPECT_EQ(walk::count(p, p.roles[0], "expert up weight cast"), 2 * 4);  // passes and layers
  EXPECT_EQ(walk::count(p, p.roles[0], "expert up weight transpose"), 0);
  EXPECT_EQ(walk::count(p, p.roles[0], "qkv weight cast"), 0);
  EXPECT_EQ(walk::count(p, p.roles[0], "qkv weight transpose"), 4);
}

TEST(LowPrecision, AModuleOfFurtherTokensHoldsItsWeightsInTheLayoutsOfALayer) {
  // One more layer of 12 h^2 + 9 h beside its norms, in two layouts of a byte and a scale of a 32nd; beside them in 16
  // bits the projection of 2 h^2, norms, and a second table of 2048 h where the ends lie on different ranks.
  const auto held = [](int layers, int mtp) {
    const plan::Plan p = plan::build(job({.dp = 2, .zero = 1}, Dtype::mxfp8, [=](spec::Job& j) {
      j.training.fp8_parameters = false;
      j.model.layers = layers;
      j.model.mtp = mtp;
    }));
    return p.roles[0].resident[static_cast<int>(plan::Category::parameters)];
  };
  const std::int64_t layer = held(5, 0) - held(4, 0), module = held(4, 1) - held(4, 0);
  EXPECT_EQ(layer, 2 * (12 * 256 * 256 + 13 * 256) + 2 * (12 * 256 * 256 + 9 * 256) * 33 / 32);
  EXPECT_EQ(module - layer, 2 * (2 * 256 * 256 + 3 * 2 * 256));
}

TEST(LowPrecision, WeightsInMxfp8AloneAreGatheredIn16BitsAndCastFromThere) {
  const toy::Cut cut{.dp = 2, .zero = 1};
  const auto plan = [&](bool alone) {
    return plan::build(job(cut, Dtype::mxfp8, [=](spec::Job& j) { j.training.fp8_parameters = alone; }));
  };
  const plan::Plan alone = plan(true), copies = plan(false);
  const auto gathered = [](const plan::Plan& p) {
    return walk::collective_bytes(p, p.roles[0], "parameter all-gather");
  };
  const auto held = [](const plan::Plan& p) {
    return p.roles[0].resident[static_cast<int>(plan::Category::parameters)];
  };
  // The buffer of the gradients takes what is gathered, so that two bytes of each of a layer's 12 h^2 + 13 h are gone.
  EXPECT_EQ(held(copies) - held(alone), 2 * 4 * (12 * 256 * 256 + 13 * 256));
  EXPECT_EQ(gathered(copies), gathered(alone));
  EXPECT_EQ(walk::count(alone, alone.roles[0], "weight cast"), walk::count(copies, copies.roles[0], "weight cast"));
}

TEST(LowPrecision, AGpuWithoutTheFormatIsRefusedByName) {
  spec::Job j = toy::draft();
  j.training.precision = Dtype::nvfp4;
  const std::vector<base::Fault> faults = spec::check(j);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].what, "toy does not compute in nvfp4");
  EXPECT_EQ(faults[0].mend, "choose one of fp32, tf32, fp16, bf16");
}

}  // namespace
