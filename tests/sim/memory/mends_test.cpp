// tests/sim/memory/mends_test.cpp -- advice that keeps its word.
// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/mends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/plan/build.h"
#include "sim/memory/footprint.h"
#include "tests/support/toy.h"

namespace {

using spec::Recompute;

/// Applies one line of advice as the command line would.
spec::Job advised(spec::Job job, const std::string& flags) {
  std::istringstream in(flags);
  for (std::string flag, value; in >> flag;) {
    spec::Strategy& s = job.strategy;
    if (flag == "--sp") {  // a switch
      s.sp = true;
      continue;
    }
    in >> value;
    if (flag == "--zero") {
      s.zero = std::stoi(value);
    } else if (flag == "--recompute") {
      s.recompute = {value == "full" ? Recompute::Kind::full : Recompute::Kind::selective, 0};
    } else if (flag == "--micro-batch") {
      job.training.micro_batch = std::stoi(value);
    } else if (flag == "--tp") {
      s.tp = std::stoi(value);
    } else if (flag == "--ep") {
      s.ep = std::stoi(value);
    } else if (flag == "--cp") {
      s.cp = std::stoi(value);
    } else if (flag == "--pp") {
      s.pp = std::stoi(value);
    } else if (flag == "--dp") {
      s.dp = std::stoi(value);
    } else if (flag == "--set" && value == "strategy.offload.optimizer=cpu") {
      s.offload.optimizer = spec::Offload::To::cpu;
    } else if (flag == "--set" && value == "strategy.offload.parameters=cpu") {
      s.offload.parameters = spec::Offload::To::cpu;
    } else if (flag == "--set" && value == "strategy.fsdp.sync_each_microbatch=true") {
      s.fsdp_given = s.sync_given = s.fsdp.sync_each_microbatch = true;
    } else if (flag == "--set" && value == "training.kv_cache_dtype=fp8") {
      job.training.kv_cache_dtype = spec::Dtype::fp8;
    } else if (flag == "--set" && value == "strategy.linear_cross_entropy=true") {
      s.linear_cross_entropy = true;
    } else {
      ADD_FAILURE() << "unknown flag " << flag;
    }
  }
  return job;
}

bool fits(const spec::Job& job) {
  for (const sim::Footprint& f : sim::footprints(plan::build(job), job)) {
    if (static_cast<double>(f.total()) > job.cluster.node.gpu.memory.si()) return false;
  }
  return true;
}

TEST(Mends, ShardedParametersAreAdvisedWhenTheyFit) {
  // Room for half of the parameters, gradients and states of zero 1: zero 3 over 8 ranks holds an eighth of them.
  spec::Job job = toy::job({.dp = 8, .zero = 1}, [](spec::Job& j) { j.model.layers = 32; });
  job.cluster.node.gpu.memory = base::Bytes(static_cast<double>(sim::footprints(plan::build(job), job)[0].total()) / 2);
  const std::vector<std::string> advice = sim::changes_that_fit(job);
  EXPECT_EQ(std::count(advice.begin(), advice.end(), "--zero 3"), 1);
}

TEST(Mends, ContextParallelRanksAloneShareParametersToo) {
  // One replica over 8 context-parallel ranks, each of which holds all parameters under zero 1.
  spec::Job job = toy::job({.dp = 1, .zero = 1}, [](spec::Job& j) {
    j.model.layers = 32;
    j.cluster = toy::cluster(8);
    j.strategy.cp = 8;
  });
  job.cluster.node.gpu.memory = base::Bytes(static_cast<double>(sim::footprints(plan::build(job), job)[0].total()) / 2);
  const std::vector<std::string> advice = sim::changes_that_fit(job);
  EXPECT_EQ(std::count(advice.begin(), advice.end(), "--zero 3"), 1);
}

/// The job on GPUs that have `share` of what its largest stage needs.
spec::Job short_of_memory(spec::Job job, double share) {
  double need = 0;
  for (const sim::Footprint& f : sim::footprints(plan::build(job), job)) {
    need = std::max(need, static_cast<double>(f.total()));
  }
  job.cluster.node.gpu.memory = base::Bytes(need * share);
  return job;
}

TEST(Mends, ExpertsGoToAsManyRanksAsItTakesAheadOfAllElse) {
  // 64 experts on each of 8 ranks, of which half are room enough: over two ranks, and not over four besides.
  const spec::Job job = short_of_memory(toy::job({.dp = 8, .zero = 1},
                                                 [](spec::Job& j) {
                                                   j.model.layers = 4;
                                                   j.model.moe =
                                                       spec::Moe{.experts = 64, .top_k = 2, .ffn = j.model.ffn};
                                                 }),
                                        0.7);
  const std::vector<std::string> advice = sim::changes_that_fit(job);
  ASSERT_FALSE(advice.empty());
  EXPECT_EQ(advice.front(), "--ep 2");
  EXPECT_EQ(std::count_if(advice.begin(), advice.end(), [](const auto& a) { return a.starts_with("--ep"); }), 1);
  for (const std::string& flags : advice) EXPECT_TRUE(fits(advised(job, flags))) << flags;
}

TEST(Mends, LongSequencesAreCutOverContextParallelRanks) {
  const auto advice = [](std::int64_t sequence) {
    return sim::changes_that_fit(short_of_memory(toy::job({.dp = 8, .zero = 3, .recompute = {Recompute::Kind::full}},
                                                          [sequence](spec::Job& j) {
                                                            j.training.sequence = sequence;
                                                            j.strategy.attention_kernel = spec::AttentionKernel::flash2;
                                                          }),
                                                 0.7));
  };
  const std::vector<std::string> longer = advice(8'192), shorter = advice(4'096);
  const auto by_context = [](const std::string& flags) { return flags.starts_with("--cp"); };
  EXPECT_EQ(std::count_if(longer.begin(), longer.end(), by_context), 1);
  EXPECT_EQ(std::count_if(shorter.begin(), shorter.end(), by_context), 0);
}

TEST(Mends, WiderTensorParallelismComesWithSequenceParallelismWhereThatFits) {
  const std::vector<std::string> advice = sim::changes_that_fit(short_of_memory(
      toy::job({.dp = 8, .zero = 3, .recompute = {Recompute::Kind::full}}, [](spec::Job& j) { j.model.layers = 32; }),
      0.9));
  const auto tensor = std::ranges::find_if(advice, [](const auto& flags) { return flags.starts_with("--tp"); });
  ASSERT_NE(tensor, advice.end()) << testing::PrintToString(advice);
  EXPECT_NE(tensor->find(" --sp --dp "), std::string::npos) << *tensor;
}

TEST(Mends, AnotherCutComesWithWhatIsThriftyWhereNeitherIsEnough) {
  // All that is thrifty leaves parameters sharded over 8 ranks and one layer's activations of long sequences, so that
  // half of its peak wants a cut of these, too.
  const auto build = [](spec::Job& j) {
    j.model.layers = 8;
    j.training.sequence = 16'384;
    j.model.max_positions = 16'384;
    j.framework.offloads_parameters = false;
  };
  const spec::Job all = toy::job({.dp = 8, .zero = 3, .recompute = {Recompute::Kind::full}}, build);
  double need = 0;
  for (const sim::Footprint& f : sim::footprints(plan::build(all), all))
    need = std::max(need, static_cast<double>(f.total()));
  spec::Job job = toy::job({.dp = 8}, build);
  job.cluster.node.gpu.memory = base::Bytes(need / 2);
  const std::vector<std::string> advice = sim::changes_that_fit(job);
  ASSERT_FALSE(advice.empty());
  for (const std::string& flags : advice) {
    EXPECT_NE(flags.find("--recompute full"), flags.npos) << flags;
    EXPECT_TRUE(flags.find("--tp") != flags.npos || flags.find("--cp") != flags.npos ||
                flags.find("--pp") != flags.npos)
        << flags;
    EXPECT_TRUE(fits(advised(job, flags))) << flags;
  }
}

TEST(Mends, AServedModelsCacheMayBeNarrow) {
  spec::Job job = toy::job({.tp = 2}, [](spec::Job& j) {
    j.training.mode = spec::Mode::decode;
    j.training.sequence = 4096;
    j.model.max_positions = 8192;
    j.training.global_batch = j.training.micro_batch = 64;
    j.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(2000);
  });
  job = short_of_memory(job, 0.7);
  const std::vector<std::string> advice = sim::changes_that_fit(job);
  EXPECT_EQ(std::ranges::count(advice, "--set training.kv_cache_dtype=fp8"), 1) << testing::PrintToString(advice);
}

TEST(Mends, WhatMayNotBeToldMakesRoomForOthers) {
  const spec::Job job = short_of_memory(toy::job({.dp = 8}, [](spec::Job& j) { j.model.layers = 32; }), 0.5);
  const auto starts = [](const std::string& flags) { return flags.starts_with("--zero"); };
  const std::vector<std::string> all = sim::changes_that_fit(job);
  EXPECT_GT(std::ranges::count_if(all, starts), 0);
  std::vector<std::string> rest;
  for (const sim::FittingChange& change :
       sim::fitting_changes(job, [&](const std::string& flags) { return flags.find("--zero") == flags.npos; })) {
    rest.push_back(change.flags);
  }
  EXPECT_FALSE(rest.empty());  // other cuts
  for (const std::string& flags : rest) {
    EXPECT_EQ(flags.find("--zero"), flags.npos) << flags;
    EXPECT_TRUE(fits(advised(job, flags))) << flags;
  }
}

TEST(Mends, GradientsThatStayWholeAreShardedBehindEachMicrobatch) {
  const auto advice = [](int microbatches) {
    return sim::changes_that_fit(short_of_memory(
        toy::job({.dp = 8, .zero = 3, .microbatches = microbatches, .recompute = {Recompute::Kind::full}},
                 [](spec::Job& j) {
                   j.model.layers = 32;
                   j.framework.accumulates_whole = true;
                 }),
        0.8));
  };
  const std::string flags = "--set strategy.fsdp.sync_each_microbatch=true";
  const std::vector<std::string> several = advice(4), one = advice(1);
  ASSERT_FALSE(several.empty());
  EXPECT_EQ(several.front(), flags);
  EXPECT_EQ(std::ranges::count(one, flags), 0);  // a lone microbatch is the last
}

TEST(Mends, LargeLogitsAreMadeByChunksOfTokensWhereNoRanksShareTheVocabulary) {
  const auto advice = [](int tp, std::int64_t vocab) {
    return sim::changes_that_fit(short_of_memory(toy::job({.tp = tp, .micro_batch = 8},
                                                          [vocab](spec::Job& j) {
                                                            j.model.layers = 1;
                                                            j.model.vocab = vocab;
                                                          }),
                                                 0.9));
  };
  const std::string flags = "--set strategy.linear_cross_entropy=true";
  EXPECT_EQ(std::ranges::count(advice(1, 65'536), flags), 1);
  EXPECT_EQ(std::ranges::count(advice(2, 65'536), flags), 0);
  EXPECT_EQ(std::ranges::count(advice(1, 64), flags), 0);
}

TEST(Mends, TogetherAreOnlyAsManyAsItTakes) {
  // 25 M parameters: 100 MB of whole gradients, 142 MB of activations, 56 MB of shards. Without the first two a third
  // of all is enough; without one of them it is not, nor with half of the activations; the smaller microbatch is left.
  const auto with = [](double memory, bool both) {
    const spec::Recompute recompute{both ? Recompute::Kind::full : Recompute::Kind::none};
    return toy::job({.dp = 8, .zero = 3, .microbatches = 4, .micro_batch = 2, .recompute = recompute},
                    [&](spec::Job& j) {
                      j.model.layers = 32;
                      j.training.sequence = 256;
                      j.framework.accumulates_whole = true;
                      if (both) j.strategy.fsdp_given = j.strategy.sync_given = true;
                      if (memory > 0) j.cluster.node.gpu.memory = base::Bytes(memory);
                    });
  };
  const spec::Job saved = with(0, true);
  const auto need = static_cast<double>(sim::footprints(plan::build(saved), saved)[0].total());
  const spec::Job job = with(1.2 * need, false);
  const std::vector<std::string> advice = sim::changes_that_fit(job);
  EXPECT_EQ(std::ranges::count(advice, "--set strategy.fsdp.sync_each_microbatch=true --recompute full"), 1);
  for (const std::string& flags : advice) EXPECT_TRUE(fits(advised(job, flags))) << flags;
}

TEST(Mends, WhatLeavesHardlyAnyRoomIsToldWhereNothingLeavesMore) {
  // Full recomputation needs so much; a little more than that is tight, and is told only where it is all there is.
  const spec::Job full = toy::job({.recompute = {Recompute::Kind::full}}, [](spec::Job& j) { j.model.layers = 8; });
  const auto need = static_cast<double>(sim::footprints(plan::build(full), full)[0].total());
  const auto advice = [need](double share, int dp) {
    return sim::changes_that_fit(toy::job({.dp = dp}, [=](spec::Job& j) {
      j.model.layers = 8;
      j.cluster.node.gpu.memory = base::Bytes(need * share);
    }));
  };
  EXPECT_EQ(advice(1.02, 1), std::vector<std::string>{"--recompute full"});
  const std::vector<std::string> of_many = advice(1.02, 8);  // whose states can be sharded instead
  EXPECT_FALSE(of_many.empty());
  EXPECT_EQ(std::count(of_many.begin(), of_many.end(), "--recompute full"), 0);
}

TEST(Mends, TheOptimizerGoesToTheHostAloneWhereThatIsEnough) {
  // One GPU with room for all but two thirds of the states: 12 of 18 bytes a parameter.
  spec::Job job = toy::job({.recompute = {Recompute::Kind::full}}, [](spec::Job& j) {
    j.model.layers = 64;
    j.framework.offloads_parameters = false;
  });
  job.cluster.node.gpu.memory = base::Bytes(static_cast<double>(sim::footprints(plan::build(job), job)[0].total()) / 2);
  const std::vector<std::string> advice = sim::changes_that_fit(job);
  ASSERT_EQ(advice, std::vector<std::string>{"--zero 1 --set strategy.offload.optimizer=cpu"});
  EXPECT_TRUE(fits(advised(job, advice.front())));
}

TEST(Mends, DefaultsAreThoseOfTheChangedJob) {
  // Gradients of 16 bits under zero 1 where there are no stages: with two of them they are in fp32, and need the room.
  const auto cut = [](int pp, double memory) {
    return toy::job({.pp = pp, .dp = 8 / pp, .zero = 1, .recompute = {Recompute::Kind::full}}, [&](spec::Job& j) {
      j.model.layers = 32;
      j.framework.sharded_gradients_in_16_bits = true;
      j.cluster.node.gpu.memory = base::Bytes(memory);
    });
  };
  const spec::Job staged = cut(2, 1e12);
  double need = 0;
  for (const sim::Footprint& f : sim::footprints(plan::build(staged), staged)) {
    need = std::max(need, static_cast<double>(f.total()));
  }
  const auto advises = [&](double memory) {
    const std::vector<std::string> advice = sim::changes_that_fit(cut(1, memory));
    return std::count(advice.begin(), advice.end(), "--pp 2 --dp 4") == 1;
  };
  EXPECT_TRUE(advises(need * 1.1));
  EXPECT_FALSE(advises(need * 0.95));  // where 16-bit gradients would fit, at 0.8 of it
}

TEST(Mends, EveryOneMakesTheJobFit) {
  // From a little too small to far too small: there is always less advice, and what is given holds.
  const auto job_with = [](double memory) {
    return toy::job({.tp = 2, .pp = 2, .dp = 8, .microbatches = 4, .micro_batch = 4},
                    [&](spec::Job& j) { j.cluster.node.gpu.memory = base::Bytes(memory); });
  };
  const spec::Job roomy = job_with(1e12);
  double need = 0;
  for (const sim::Footprint& f : sim::footprints(plan::build(roomy), roomy))
    need = std::max(need, static_cast<double>(f.total()));
  int told = 0;
  for (const double share : {0.99, 0.9, 0.8, 0.6, 0.4, 0.3, 0.2}) {
    const spec::Job job = job_with(need * share);
    ASSERT_FALSE(fits(job));
    for (const std::string& flags : sim::changes_that_fit(job)) {
      ++told;
      const spec::Job changed = advised(job, flags);
      EXPECT_TRUE(spec::check(changed).empty()) << flags;
      EXPECT_TRUE(fits(changed)) << flags << " at " << share;
    }
  }
  EXPECT_GT(told, 5);
  EXPECT_TRUE(sim::changes_that_fit(job_with(1000)).empty());
}

}  // namespace
