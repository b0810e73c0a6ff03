// tests/real/executor/fp8_weights_test.cpp -- weights that exist in fp8 alone: whatever ranks share the masters, all
// learn what ranks learn that keep 16 bits beside. In double the 16 bits are the masters, so casts of either are the
// same numbers under the same scales. SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/fp8_jobs.h"

namespace {

using namespace fp8_jobs;

/// Losses, norms and gradients of three steps with and without 16 bits.
template <class Change>
double apart_from_wide(const char* recipe, const toy::Cut& cut, Change change) {
  const auto run = [&](bool alone) {
    return tiny::run(job_of(
                         recipe, cut,
                         [&](spec::Job& job) {
                           change(job);
                           job.training.fp8_parameters = alone;
                         },
                         8),
                     3);
  };
  return tiny::difference(run(false), run(true));
}

void nothing(spec::Job&) {}
void blackwell(spec::Job& job) { job.cluster.node.gpu.generation = spec::Generation::blackwell; }

TEST(Fp8Weights, LearnTheSameOnOneRank) {
  for (const char* recipe : {"tensorwise", "delayed"}) {
    EXPECT_LT(apart_from_wide(recipe, {.microbatches = 2}, nothing), 1e-10) << recipe;
    EXPECT_LT(apart_from_wide(recipe, {.microbatches = 2}, blackwell), 1e-10) << recipe;
  }
}

TEST(Fp8Weights, AreCastByTheRanksThatShareTheMasters) {
  for (const char* recipe : {"tensorwise", "delayed"}) {
    for (const int zero : {0, 1, 2}) {
      const toy::Cut cut{.dp = 2, .zero = zero, .microbatches = 2};
      EXPECT_LT(apart_from_wide(recipe, cut, nothing), 1e-10) << recipe << ' ' << zero;
      EXPECT_LT(apart_from_wide(recipe, cut, blackwell), 1e-10) << recipe << ' ' << zero;
    }
    // Three ranks share no layer's weights evenly, and the last one has less.
    EXPECT_LT(apart_from_wide(recipe, {.dp = 3, .zero = 1}, [](spec::Job& job) { job.training.global_batch = 6; }),
              1e-10)
        << recipe;
  }
}

TEST(Fp8Weights, TravelAsThePassesNeedThemOrBehindTheStep) {
  for (const bool beside : {true, false}) {
    const auto when = [&](spec::Job& job) { job.strategy.overlap.param_gather = beside; };
    for (const char* recipe : {"tensorwise", "delayed"}) {
      EXPECT_LT(apart_from_wide(recipe, {.dp = 2, .zero = 1, .microbatches = 2}, when), 1e-10) << recipe << beside;
      EXPECT_LT(apart_from_wide(recipe, {.pp = 2, .dp = 2, .zero = 1, .microbatches = 4}, when), 1e-10)
          << recipe << beside;
    }
  }
}

TEST(Fp8Weights, OfEveryStrategyThatCutsThem) {
  const toy::Cut again{.dp = 2, .zero = 1, .recompute = {.kind = spec::Recompute::Kind::full}};
  const toy::Cut chunks{.pp = 2, .vpp = 2, .dp = 2, .zero = 1, .microbatches = 4};
  const toy::Cut tensor{.tp = 2, .dp = 2, .zero = 1}, shards{.tp = 2, .sp = true, .dp = 2, .zero = 1};
  const auto deep = [](spec::Job& job) { job.model = tiny::llama(4); };
  const auto ring = [](spec::Job& job) {
    job.cluster = toy::cluster(4);
    job.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(2000);
    job.strategy.cp = 2;
  };
  for (const char* recipe : {"tensorwise", "delayed"}) {
    for (const toy::Cut& cut : {tensor, shards, again}) {
      EXPECT_LT(apart_from_wide(recipe, cut, nothing), 1e-10) << recipe << cut.tp << cut.sp;
    }
    EXPECT_LT(apart_from_wide(recipe, chunks, deep), 1e-10) << recipe;
    EXPECT_LT(apart_from_wide(recipe, {.dp = 2, .zero = 1}, ring), 1e-10) << recipe;
  }
}

TEST(Fp8Weights, OfExpertsHaveAScaleEachWhoeverOwnsThem) {
  const auto experts = [](spec::Job& job) { job.model = tiny::moe(); };
  const auto spread = [](spec::Job& job) {
    job.model = tiny::moe();
    job.strategy.ep = 2;
  };
  for (const char* recipe : {"tensorwise", "delayed"}) {
    EXPECT_LT(apart_from_wide(recipe, {.dp = 2, .zero = 1}, experts), 1e-10) << recipe;
    EXPECT_LT(apart_from_wide(recipe, {.dp = 4, .zero = 1}, spread), 1e-10) << recipe;
  }
}

TEST(Fp8Weights, OfLatentAttentionAndLayersThatStayWide) {
  const auto latent = [](spec::Job& job) { job.model = tiny::latent(); };
  const auto wide = [](spec::Job& job) {
    job.model = tiny::llama(4);
    job.training.wide_layers = {1, 1};
  };
  const toy::Cut cut{.dp = 2, .zero = 1};
  EXPECT_LT(apart_from_wide("tensorwise", cut, latent), 1e-10);
  EXPECT_LT(apart_from_wide("delayed", cut, wide), 1e-10);
}

TEST(Fp8Weights, OfModulesAheadAreThoseOfTheLastLayersKind) {
  const auto modules = [](spec::Job& job) { job.model.mtp = 2; };
  const auto wide_end = [](spec::Job& job) {
    job.model.mtp = 1;
    job.training.wide_layers = {0, 1};
  };
  for (const char* recipe : {"tensorwise", "delayed"}) {
    for (const int zero : {0, 1}) {
      EXPECT_LT(apart_from_wide(recipe, {.dp = 2, .zero = zero}, modules), 1e-10) << recipe << zero;
      EXPECT_LT(apart_from_wide(recipe, {.dp = 2, .zero = zero}, wide_end), 1e-10) << recipe << zero;
    }
  }
  EXPECT_LT(apart_from_wide("", {.dp = 2, .zero = 1},
                            [&](spec::Job& job) {
                              modules(job);
                              job.training.precision = spec::Dtype::mxfp8;
                            }),
            1e-10);
}

TEST(Fp8Weights, OfBlocksAreLetGoWhenTheyAreCast) {
  const auto blocks = [](spec::Job& job) { job.training.precision = spec::Dtype::mxfp8; };
  const auto experts = [&](spec::Job& job) {
    blocks(job);
    job.model = tiny::moe();
  };
  for (const int zero : {0, 1}) {
    EXPECT_LT(apart_from_wide("", {.dp = 2, .zero = zero, .microbatches = 2}, blocks), 1e-10) << zero;
    EXPECT_LT(apart_from_wide("", {.dp = 2, .zero = zero, .microbatches = 2}, experts), 1e-10) << zero;
  }
  EXPECT_LT(apart_from_wide("", {.pp = 2, .dp = 2, .zero = 1, .microbatches = 4}, blocks), 1e-10);
}

TEST(Fp8Weights, TakeAByteEachBesideTheirMasters) {
  // Behind a step a rank holds of each linear weight its codes alone, and of the other tensors 16 bits.
  const spec::Job job =
      job_of("tensorwise", {.dp = 2, .zero = 1}, [](spec::Job& draft) { draft.training.fp8_parameters = true; });
  int codes = 0, wide = 0;
  const auto visit = [&](const real::Executor& executor) {
    for (const real::Parameter& p : executor.state().parameters.all()) {
      const bool linear = p.layer >= 0 && p.part.whole_columns > 1;
      EXPECT_EQ(p.kept == real::Kept::codes, linear) << p.name;
      EXPECT_EQ(static_cast<bool>(p.weight), !linear) << p.name;
      EXPECT_EQ(p.codes.count, linear ? p.count() : 0) << p.name;
      ++(linear ? codes : wide);
    }
  };
  real::train_on_cpu(job, plan::build(job), tiny::tokens(job), tiny::settings(), 1, {}, visit);
  EXPECT_EQ(codes, 2 * 2 * 4);       // on two ranks two layers of qkv, output, up and down
  EXPECT_EQ(wide, 2 * (2 * 2 + 3));  // two norms a layer, embedding, final norm and head
}

TEST(Fp8Weights, BesideWhatIsNotComputedYetAreRefused) {
  const auto refused = [](const char* recipe, const toy::Cut& cut, auto change) {
    const spec::Job job = job_of(recipe, cut, [&](spec::Job& draft) {
      draft.training.fp8_parameters = true;
      change(draft);
    });
    std::vector<std::string> fields;
    for (const base::Fault& fault : real::unsupported(job, plan::build(job))) fields.push_back(fault.field);
    return fields;
  };
  const std::vector<std::string> none, field{"training.fp8_parameters"};
  EXPECT_EQ(refused("tensorwise", {.dp = 2, .zero = 1}, nothing), none);
  EXPECT_EQ(refused("tensorwise", {.dp = 2, .zero = 3}, nothing), field);
  EXPECT_EQ(refused("blockwise", {}, nothing), field);
  EXPECT_EQ(refused("delayed", {.pp = 2, .microbatches = 4, .schedule = spec::Schedule::pipedream}, nothing), field);
}

}  // namespace
