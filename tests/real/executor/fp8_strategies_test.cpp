// tests/real/executor/fp8_strategies_test.cpp -- matmuls in fp8 beside what else a Job asks for: shards of the
// sequence, experts, latent attention, adapters. Gradients are those of a plain model with the same roundings.
// SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/fp8_jobs.h"

namespace {

using namespace fp8_jobs;

const toy::Cut kShards{.tp = 2, .sp = true};

/// Of the first step.
template <class Change>
double apart_from_model(const toy::Cut& cut, Change change) {
  const spec::Job job = job_of("tensorwise", cut, change, 2);
  const fp8_model::Recipe recipe{.tp = cut.tp, .shards = cut.sp};
  return apart(job, fp8_model::step(job.model, parameters_behind(job, 0), sequences(job), recipe));
}

void nothing(spec::Job&) {}

TEST(Fp8Shards, AreScaledByWhatTheGroupAgreesUpon) {
  // A column-parallel layer's input and a row-parallel layer's gradient have the scale of the whole tensor, what a rank
  // alone has that of its part: with shards of the sequence and without.
  EXPECT_LT(apart_from_model({.tp = 2}, nothing), 1e-10);
  EXPECT_LT(apart_from_model(kShards, nothing), 1e-10);
}

TEST(Fp8Shards, AreCastAnewWhereCastsAreNotKept) {
  EXPECT_LT(apart_from_model(kShards, [](spec::Job& job) { job.framework.keeps_casts = false; }), 1e-10);
  EXPECT_LT(apart_from_model(kShards,
                             [](spec::Job& job) {
                               job.framework.keeps_casts = false;
                               job.framework.keeps_gathered = true;
                             }),
            1e-10);
}

TEST(Fp8Shards, AreNotTurnedWhereTensorCoresTakeAnyOrder) {
  const auto blackwell = [](spec::Job& job) { job.cluster.node.gpu.generation = spec::Generation::blackwell; };
  EXPECT_LT(apart_from_model(kShards, blackwell), 1e-10);
}

TEST(Fp8Shards, ArriveBesideMatmuls) {
  for (const auto overlap : {spec::TpOverlap::wgrad, spec::TpOverlap::chunked}) {
    EXPECT_LT(apart_from_model(kShards, [&](spec::Job& job) { job.strategy.overlap.tp = overlap; }), 1e-10);
  }
}

TEST(Fp8Shards, TravelInARingAndLayersAreReducedBlockByBlock) {
  const auto userbuffers = [](spec::Job& job) { job.strategy.overlap.tp = spec::TpOverlap::userbuffers; };
  const auto gathered_anew = [&](spec::Job& job) {
    userbuffers(job);
    job.framework.keeps_casts = false;
  };
  for (const bool sp : {false, true}) {
    EXPECT_LT(apart_from_model({.tp = 2, .sp = sp}, userbuffers), 1e-10) << sp;
    EXPECT_LT(apart_from_model({.tp = 2, .sp = sp}, gathered_anew), 1e-10) << sp;
    // Over four ranks, two of which have the same keys, as tokens that are multiplied at once.
    for (const char* recipe : {"tensorwise", "delayed"}) {
      const auto run = [&](auto change) { return tiny::run(job_of(recipe, {.tp = 4, .sp = sp}, change, 2), 2); };
      EXPECT_LT(tiny::difference(run(nothing), run(userbuffers)), 1e-10) << recipe << sp;
    }
  }
  toy::Cut again = kShards;
  again.recompute = {.kind = spec::Recompute::Kind::full};
  EXPECT_LT(apart_from_model(again, userbuffers), 1e-10);
}

TEST(Fp8Shards, OfBlocksTravelWithTheirScales) {
  // Four blocks of 128 tokens: the same numbers whichever rank multiplies them, and whether they come at once.
  for (const int tp : {2, 4}) {
    for (const bool sp : {false, true}) {
      const auto run = [&](spec::TpOverlap overlap) {
        const auto blocks = [&](spec::Job& job) {
          job.training.precision = spec::Dtype::mxfp8;
          job.model.layers = 1;
          job.model.max_positions = job.training.sequence = 512;
          job.strategy.overlap.tp = overlap;
        };
        return tiny::run(job_of("", {.tp = tp, .sp = sp}, blocks, 1), 1);
      };
      EXPECT_LT(tiny::difference(run(spec::TpOverlap::none), run(spec::TpOverlap::userbuffers)), 1e-10) << tp << sp;
    }
  }
}

TEST(Fp8Shards, AreMadeAgainWithTheirLayer) {
  toy::Cut again = kShards;
  again.recompute = {.kind = spec::Recompute::Kind::full};
  EXPECT_LT(apart_from_model(again, nothing), 1e-10);
}

TEST(Fp8Shards, DelayedScalesAreTheLargestOfAllRanks) {
  for (const bool fused : {true, false}) {
    const auto norm = [&](spec::Job& job) { job.framework.fused.norm = fused; };
    const spec::Job job = job_of("delayed", kShards, norm, 2);
    fp8_model::Recipe recipe{.before = fp8_model::Magnitudes{}, .tp = 2, .shards = true};
    const fp8_model::Step first = fp8_model::step(job.model, parameters_behind(job, 0), sequences(job), recipe);
    EXPECT_LT(apart(job, first), 1e-10);
    recipe.before = first.largest;
    const fp8_model::Step second = fp8_model::step(job.model, parameters_behind(job, 1), sequences(job, 1), recipe);
    EXPECT_LT(apart(job, second, 2), 1e-10);
  }
}

TEST(Fp8Shards, OfWholeBlocksAreGatheredWithTheirScales) {
  // Two shards of 128 tokens: each layout's blocks, and so all numbers, are those of ranks without shards.
  for (const bool mx : {true, false}) {
    for (const bool kept : {true, false}) {
      const auto blocks = [&](spec::Job& job) {
        if (mx) job.training.precision = spec::Dtype::mxfp8;
        job.model.layers = 1;
        job.model.max_positions = job.training.sequence = 256;
        job.framework.keeps_casts = kept;
      };
      const auto run = [&](bool sp) {
        return tiny::run(job_of(mx ? "" : "blockwise", {.tp = 2, .sp = sp}, blocks, 1), 1);
      };
      EXPECT_LT(tiny::difference(run(false), run(true)), 1e-10) << mx << kept;
    }
  }
}

TEST(Fp8Latent, ProjectionsAreCastAsTheyAreCut) {
  for (const int query_rank : {12, 0}) {
    const auto latent = [&](spec::Job& job) { job.model = tiny::latent(query_rank); };
    for (const toy::Cut& cut : {toy::Cut{}, toy::Cut{.tp = 2}, kShards}) {
      EXPECT_LT(apart_from_model(cut, latent), 1e-10) << query_rank << ' ' << cut.tp << ' ' << cut.sp;
    }
  }
}

void experts(spec::Job& job) { job.model = tiny::moe(); }

TEST(Fp8Experts, EachHasScalesOfItsOwn) {
  EXPECT_LT(apart_from_model({}, experts), 1e-10);
  EXPECT_LT(apart_from_model({},
                             [](spec::Job& job) {
                               experts(job);
                               job.framework.keeps_casts = false;
                             }),
            1e-10);
}

TEST(Fp8Experts, RanksThatShareThemChangeNothing) {
  // All rows of a sequence meet in each expert, on whichever rank it is.
  toy::Cut cut = kShards;
  EXPECT_LT(apart_from_model(cut,
                             [](spec::Job& job) {
                               experts(job);
                               job.strategy.ep = 2;
                             }),
            1e-10);
}

TEST(Fp8Experts, DelayedScalesAreOfEachExpert) {
  const spec::Job job = job_of("delayed", {}, experts, 2);
  const fp8_model::Step first =
      fp8_model::step(job.model, parameters_behind(job, 0), sequences(job), {.before = fp8_model::Magnitudes{}});
  const fp8_model::Step second =
      fp8_model::step(job.model, parameters_behind(job, 1), sequences(job, 1), {.before = first.largest});
  EXPECT_LT(apart(job, second, 2), 1e-10);
}

TEST(Fp8Experts, BlocksOfRowsAreFilledUpWithZeros) {
  // No expert's rows fill a block of 32 or 128; torchao's rows need none.
  for (const std::string recipe : {"rowwise", "blockwise", "mxfp8"}) {
    const auto blocks = [&](spec::Job& job) {
      experts(job);
      if (recipe == "mxfp8") job.training.precision = spec::Dtype::mxfp8;
    };
    const spec::Job job = job_of(recipe == "mxfp8" ? "" : recipe.c_str(), {}, blocks, 2);
    fp8_model::Recipe plain{.block = recipe == "rowwise" ? 1u << 20 : recipe == "mxfp8" ? 32u : 128u};
    if (recipe == "blockwise") plain.square = 128;
    EXPECT_LT(apart(job, fp8_model::step(job.model, parameters_behind(job, 0), sequences(job), plain)), 1e-10)
        << recipe;
  }
}

void adapters(spec::Job& job) { job.strategy.lora = spec::Lora{.rank = 4, .qkv = true, .proj = true, .ffn = true}; }

TEST(Fp8Adapters, AreMultipliedInSixteenBitsBesideAFrozenBase) {
  EXPECT_LT(apart_from_model({}, adapters), 1e-10);
  EXPECT_LT(apart_from_model({.tp = 2}, adapters), 1e-10);
  EXPECT_LT(apart_from_model({},
                             [&](spec::Job& job) {
                               adapters(job);
                               job.framework.keeps_casts = false;
                             }),
            1e-10);
}

/// B is zero in the first step, and with it the gradient of A.
TEST(Fp8Adapters, SoAreThoseOfExpertsInTheSecondStep) {
  for (const bool kept : {true, false}) {
    const auto beside_experts = [&](spec::Job& job) {
      experts(job);
      adapters(job);
      job.framework.keeps_casts = kept;
    };
    const spec::Job job = job_of("tensorwise", {}, beside_experts, 2);
    EXPECT_LT(apart(job, fp8_model::step(job.model, parameters_behind(job, 1), sequences(job, 1), {}), 2), 1e-10);
  }
}

}  // namespace
