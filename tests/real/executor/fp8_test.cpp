// tests/real/executor/fp8_test.cpp -- matmuls in fp8: gradients are those of a plain model that rounds the same
// operands by the same scales, whatever casts a framework's Plan has, and training learns.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/low_precision.h"
#include "tests/real/executor/fp8_jobs.h"

namespace {

using namespace fp8_jobs;

double apart_tensorwise(const spec::Job& job) {
  const spec::WideLayers& wide = job.training.wide_layers;
  const fp8_model::Recipe recipe{.first_wide = wide.first, .last_wide = wide.last};
  return apart(job, fp8_model::step(job.model, parameters_behind(job, 0), sequences(job), recipe));
}

TEST(Fp8, TheReferenceWithoutRoundingIsThePlainModel) {
  const spec::Job job = job_of("tensorwise");
  const Parameters start = parameters_behind(job, 0);
  const fp8_model::Recipe all_wide{.first_wide = job.model.layers};
  EXPECT_NEAR(fp8_model::step(job.model, start, sequences(job), all_wide).loss,
              reference_model::loss(job.model, start, sequences(job)), 1e-12);
  // And its gradients are those of the executor in 16 bits.
  spec::Job bf16 = tiny::draft(tiny::llama(), {}, 4);
  EXPECT_LT(apart(toy::resolved(bf16), fp8_model::step(job.model, start, sequences(job), all_wide)), 1e-10);
}

TEST(Fp8, TensorwiseGradientsAreThoseOfThePlainEmulation) { EXPECT_LT(apart_tensorwise(job_of("tensorwise")), 1e-10); }

TEST(Fp8, CastsAnewInEachPassChangeNothing) {
  const auto anew = [](spec::Job& job) { job.framework.keeps_casts = false; };
  EXPECT_LT(apart_tensorwise(job_of("tensorwise", {}, anew)), 1e-10);
}

TEST(Fp8, PartsOfALayerShareItsScales) {
  for (const bool kept : {true, false}) {
    const auto parts = [&](spec::Job& job) {
      job.framework.separate_linears = true;
      job.framework.keeps_casts = kept;
    };
    EXPECT_LT(apart_tensorwise(job_of("tensorwise", {}, parts)), 1e-10) << kept;
  }
}

TEST(Fp8, OneLayoutServesWhereTensorCoresTakeAnyOrder) {
  const auto blackwell = [](spec::Job& job) { job.cluster.node.gpu.generation = spec::Generation::blackwell; };
  const spec::Job job = job_of("tensorwise", {}, blackwell);
  ASSERT_EQ(plan::weight_layouts(plan::Context(job)), 1);
  EXPECT_LT(apart_tensorwise(job), 1e-10);
}

TEST(Fp8, WideLayersStayInSixteenBits) {
  const auto wide = [](spec::Job& job) { job.training.wide_layers = {1, 0}; };
  const spec::Job job = job_of("tensorwise", {}, wide);
  EXPECT_LT(apart_tensorwise(job), 1e-10);
  spec::Job narrow = job;
  narrow.training.wide_layers = {};
  EXPECT_GT(apart_tensorwise(job) + tiny::difference(tiny::run(job, 1), tiny::run(narrow, 1)), 1e-4);  // it matters
}

TEST(Fp8, DelayedScalesAreThoseOfTheStepBefore) {
  // With and without a norm that writes fp8 itself.
  for (const bool fused : {true, false}) {
    const auto norm = [&](spec::Job& job) { job.framework.fused.norm = fused; };
    const spec::Job job = job_of("delayed", {}, norm);
    const fp8_model::Step first =
        fp8_model::step(job.model, parameters_behind(job, 0), sequences(job), {.before = fp8_model::Magnitudes{}});
    EXPECT_LT(apart(job, first), 1e-10);
    const fp8_model::Step second =
        fp8_model::step(job.model, parameters_behind(job, 1), sequences(job, 1), {.before = first.largest});
    EXPECT_LT(apart(job, second, 2), 1e-10);
  }
}

TEST(Fp8, BlocksAreScaledAlongWhatEachMatmulSums) {
  for (const bool kept : {true, false}) {
    const auto blocks = [&](spec::Job& job) {
      job.training.precision = spec::Dtype::mxfp8;
      job.framework.keeps_casts = kept;
    };
    const spec::Job job = job_of("", {}, blocks);
    const fp8_model::Recipe recipe{.block = 32};
    EXPECT_LT(apart(job, fp8_model::step(job.model, parameters_behind(job, 0), sequences(job), recipe)), 1e-10) << kept;
  }
}

/// Wide enough for more than one block of 128 along a row.
spec::Model wide_llama() {
  spec::Model m = tiny::llama(1);
  m.hidden = 136;
  m.ffn = 136;
  return m;
}

TEST(Fp8, RowsHaveScalesOfTheirOwn) {
  // In torchao's rowwise recipe each layout has a power of two for each of its rows, and gradients are e4m3, too.
  for (const bool kept : {true, false}) {
    const spec::Job job = job_of("rowwise", {}, [&](spec::Job& j) { j.framework.keeps_casts = kept; });
    const fp8_model::Recipe recipe{.block = 1u << 20};
    EXPECT_LT(apart(job, fp8_model::step(job.model, parameters_behind(job, 0), sequences(job), recipe)), 1e-10) << kept;
  }
}

TEST(Fp8, LinesOfActivationsAndSquaresOfWeightsHaveScalesOfTheirOwn) {
  // As in DeepSeek-V3: 128 numbers along what a matmul sums, and 128 x 128 weights.
  for (const bool kept : {true, false}) {
    const auto blocks = [&](spec::Job& job) {
      job.model = wide_llama();
      job.framework.keeps_casts = kept;
    };
    const spec::Job job = job_of("blockwise", {}, blocks, 1);
    const fp8_model::Recipe recipe{.block = 128, .square = 128};
    EXPECT_LT(apart(job, fp8_model::step(job.model, parameters_behind(job, 0), sequences(job), recipe)), 1e-10) << kept;
  }
}

TEST(Fp8, CutsThatLeaveTensorsWholeChangeNothing) {
  // Microbatches of one sequence are the same tensors on however many ranks, so they have the same scales.
  const tiny::Run one = tiny::run(job_of("tensorwise", {.microbatches = 4}), 2);
  const auto same = [&](const toy::Cut& cut, auto change) {
    return tiny::difference(one, tiny::run(job_of("tensorwise", cut, change), 2));
  };
  const auto nothing = [](spec::Job&) {};
  EXPECT_LT(same({.dp = 2, .microbatches = 2}, nothing), 1e-10);
  for (const int zero : {1, 2, 3}) EXPECT_LT(same({.dp = 2, .zero = zero, .microbatches = 2}, nothing), 1e-10) << zero;
  const auto offloaded = [](spec::Job& job) { job.strategy.offload.activations = true; };
  EXPECT_LT(same({.microbatches = 4}, offloaded), 1e-10);
  EXPECT_LT(same({.pp = 2, .microbatches = 4}, nothing), 1e-10);
  EXPECT_LT(same({.microbatches = 4, .recompute = {.kind = spec::Recompute::Kind::full}}, nothing), 1e-10);
  EXPECT_LT(same({.microbatches = 4, .recompute = {.kind = spec::Recompute::Kind::full}},
                 [](spec::Job& job) { job.framework.keeps_casts = false; }),
            1e-10);
  // This schedule clips no gradients: what they are in the first step.
  const toy::Cut deferred{.pp = 2, .microbatches = 4, .schedule = spec::Schedule::zb_h1};
  EXPECT_LT(tiny::difference(tiny::run(job_of("tensorwise", {.microbatches = 4}), 1),
                             tiny::run(job_of("tensorwise", deferred), 1)),
            1e-10);
}

/// How far two runs are apart where their parameters are still the same, and on the average over all steps.
std::pair<double, double> losses_apart(const tiny::Run& a, const tiny::Run& b) {
  double sum = 0, of_b = 0;
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    sum += a.losses[i];
    of_b += b.losses[i];
  }
  return {std::abs(a.losses[0] / b.losses[0] - 1), std::abs(sum / of_b - 1)};
}

TEST(Fp8, TensorParallelRanksScaleTheirPartsAndLearnTheSame) {
  // A part's largest number is at most the whole's: other scales, so losses differ by roundings alone.
  const auto [first, all] =
      losses_apart(tiny::run(job_of("tensorwise", {.tp = 2}), 10), tiny::run(job_of("tensorwise"), 10));
  EXPECT_LT(first, 0.01);
  EXPECT_LT(all, 0.02);
  EXPECT_GT(first, 0);
}

TEST(Fp8, TheLossFollowsThatInSixteenBitsAndGoesDown) {
  // e4m3 keeps 4 bits: a factor is off by a sixteenth at most, and a sum of 16 to 24 products of any sign by a part of
  // that. A loss, over all tokens, is off by less still; training is as fast, though no step is the same.
  const tiny::Run wide = tiny::run(toy::resolved(tiny::draft(tiny::llama(), {}, 8)), 25);
  for (const std::string recipe : {"tensorwise", "delayed", "rowwise", "blockwise", "mxfp8"}) {
    const bool blocks = recipe == "mxfp8";
    const auto precision = [&](spec::Job& job) {
      if (blocks) job.training.precision = spec::Dtype::mxfp8;
    };
    const tiny::Run narrow = tiny::run(job_of(blocks ? "" : recipe.c_str(), {}, precision, 8), 25);
    const auto [first, all] = losses_apart(narrow, wide);
    EXPECT_LT(first, 0.01) << recipe;
    EXPECT_LT(all, 0.03) << recipe;
    EXPECT_GT(first, 0) << recipe;
    EXPECT_LT(narrow.losses.back(), 0.75 * narrow.losses.front()) << recipe;
  }
}

TEST(Fp8, OtherModelsLoseAsInSixteenBits) {
  // Biases and tied embeddings, norms of heads, branches that share a norm, and its cast: the first loss, within 1 %.
  for (const spec::Model& model : {tiny::gpt(), tiny::qk_norm(), tiny::parallel(1), tiny::parallel(2)}) {
    const auto other = [&](spec::Job& job) { job.model = model; };
    const tiny::Run wide = tiny::run(toy::resolved(tiny::draft(model, {}, 4)), 1);
    for (const char* recipe : {"tensorwise", "delayed"}) {
      const auto [first, all] = losses_apart(tiny::run(job_of(recipe, {}, other), 1), wide);
      EXPECT_LT(first, 0.01) << model.name << ' ' << recipe;
      EXPECT_GT(first, 0) << model.name << ' ' << recipe;
    }
  }
}

TEST(Fp8, OtherScalesAndWhatIsNotCastYetAreRefused) {
  const auto refused = [](const char* recipe, auto change, const toy::Cut& cut = {}) {
    const spec::Job job = job_of(recipe, cut, change);
    std::vector<std::string> fields;
    for (const base::Fault& fault : real::unsupported(job, plan::build(job))) fields.push_back(fault.field);
    return fields;
  };
  using Fields = std::vector<std::string>;
  const auto nothing = [](spec::Job&) {};
  EXPECT_EQ(refused("tensorwise", nothing), Fields{});
  EXPECT_EQ(refused("delayed", nothing), Fields{});
  EXPECT_EQ(refused("rowwise", nothing), Fields{});
  EXPECT_EQ(refused("blockwise", nothing), Fields{});
  const auto parts = [](spec::Job& job) { job.framework.separate_linears = true; };
  EXPECT_EQ(refused("tensorwise", parts), Fields{});
  EXPECT_EQ(refused("rowwise", parts), Fields{"training.precision"});
  EXPECT_EQ(refused("blockwise", nothing, {.tp = 2, .sp = true}), Fields{"strategy.sp"});
  EXPECT_EQ(refused("rowwise", nothing, {.tp = 2, .sp = true}), Fields{"strategy.sp"});
  EXPECT_EQ(refused("", [](spec::Job& job) { job.training.precision = spec::Dtype::mxfp8; }), Fields{});
  EXPECT_EQ(refused("", [](spec::Job& job) { job.training.precision = spec::Dtype::nvfp4; }),
            Fields{"training.precision"});
  const auto mxfp8 = [](spec::Job& job) { job.training.precision = spec::Dtype::mxfp8; };
  EXPECT_EQ(refused("", mxfp8, {.tp = 2, .sp = true}), Fields{"strategy.sp"});  // shards of 4 tokens
  const auto biases = [](spec::Job& job) { job.model = tiny::gpt(); };
  EXPECT_EQ(refused("tensorwise", biases, {.tp = 2, .sp = true}), Fields{"strategy.sp"});
}

}  // namespace
