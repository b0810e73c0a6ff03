// tests/real/executor/strategies_test.cpp -- whatever a model is cut into, its Plan computes the same: losses of two
// steps, norms and every gradient are those of one rank to 1e-10, for a Llama, a GPT and a mixture of experts.
// SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/cases.h"

namespace {

using spec::CpKind;
using spec::Schedule;
using Kind = spec::Recompute::Kind;

using tiny::barrier;
using tiny::both;
using tiny::Case;
using tiny::context;
using tiny::expect_the_same;
using tiny::experts;
using tiny::overlap;
using tiny::recompute;
using tiny::shard;

const std::vector<spec::Model> kDense{tiny::llama(), tiny::gpt()};
const std::vector<spec::Model> kAll{tiny::llama(), tiny::gpt(), tiny::moe()};

/// `keeps`: the backward finds the gathered input of the forward.
auto overlapped(spec::TpOverlap tp, bool keeps) {
  return [=](spec::Job& j) {
    j.strategy.overlap.tp = tp;
    j.framework.keeps_gathered = keeps;
  };
}

TEST(Strategies, AccumulationAndRecomputation) {
  expect_the_same(kAll, {{"microbatches of 2", {}, [](spec::Job& j) { j.training.micro_batch = 2; }},
                         {"selective", {}, recompute(Kind::selective)},
                         {"full", {}, recompute(Kind::full)},
                         {"full in one layer", {}, [](spec::Job& j) {
                            j.strategy.recompute = {Kind::full, 1};
                          }}});
}

TEST(Strategies, RecomputationByModule) {
  const auto modules = [](spec::Job& j) {
    j.strategy.recompute.kind = Kind::selective;
    j.strategy.recompute.modules = {.core_attn = true, .layernorm = true, .mlp = true};
  };
  const auto stopped = [&](spec::Job& j) {  // in front of the feed-forward's last matmul, as JAX computes it again
    modules(j);
    j.framework.stops_recompute = true;
  };
  expect_the_same(kDense, {{"norms and feed-forward", {}, modules},
                           {"on two ranks", {.tp = 2, .sp = true}, modules},
                           {"up to the last matmul", {}, stopped},
                           {"up to there on two ranks", {.tp = 2, .sp = true}, stopped},
                           {"up to there, sharded", {.dp = 2, .zero = 3}, stopped}});
}

TEST(Strategies, RecomputationByOperators) {
  using spec::TpOverlap;
  const auto operators = [](TpOverlap tp) {
    return [tp](spec::Job& j) {
      recompute(Kind::selective_ops)(j);
      j.strategy.overlap.tp = tp;
    };
  };
  expect_the_same({tiny::llama(), tiny::gpt(), tiny::qk_norm(), tiny::parallel(1), tiny::parallel(2)},
                  {{"one rank", {}, operators(TpOverlap::none)},
                   {"tp", {.tp = 2}, operators(TpOverlap::none)},
                   {"sequence parallel", {.tp = 2, .sp = true}, operators(TpOverlap::none)},
                   {"chunked", {.tp = 2, .sp = true}, operators(TpOverlap::chunked)},
                   {"userbuffers", {.tp = 2, .sp = true}, operators(TpOverlap::userbuffers)}});
}

TEST(Strategies, NormsOfQueriesAndKeysAndParallelBlocks) {
  using spec::TpOverlap;
  expect_the_same({tiny::qk_norm(), tiny::parallel(1), tiny::parallel(2)},
                  {{"tp", {.tp = 2}},
                   {"sequence parallel", {.tp = 2, .sp = true}},
                   {"input kept", {.tp = 2, .sp = true}, overlapped(TpOverlap::none, true)},
                   {"beside the weight gradient", {.tp = 2, .sp = true}, overlapped(TpOverlap::wgrad, false)},
                   {"chunked", {.tp = 2, .sp = true}, overlapped(TpOverlap::chunked, false)},
                   {"userbuffers", {.tp = 2, .sp = true}, overlapped(TpOverlap::userbuffers, false)},
                   {"userbuffers, input kept", {.tp = 2, .sp = true}, overlapped(TpOverlap::userbuffers, true)},
                   {"userbuffers without sp", {.tp = 2}, overlapped(TpOverlap::userbuffers, false)},
                   {"selective", {.tp = 2}, recompute(Kind::selective)},
                   {"full", {.tp = 2, .sp = true}, recompute(Kind::full)},
                   {"zb-h1", {.pp = 2, .schedule = Schedule::zb_h1}, barrier},
                   {"zero 3", {.dp = 2, .zero = 3}},
                   {"ring", {}, context(2, CpKind::ring, true)}});
}

TEST(Strategies, LatentAttention) {
  const auto modules = [](spec::Job& j) {
    j.strategy.recompute.kind = Kind::selective;
    j.strategy.recompute.modules = {.core_attn = true, .layernorm = true, .mla_up_proj = true};
  };
  // Kernels that take values narrower than queries; rotations as a chain of kernels; no rotations.
  const auto narrow = [](spec::Job& j) { j.strategy.attention_kernel = spec::AttentionKernel::cudnn; };
  const auto chain = [](spec::Job& j) { j.strategy.fused_kernels.rope = false; };
  using enum spec::TpOverlap;
  spec::Model unturned = tiny::latent();
  unturned.name = "tiny latent without rotations";
  unturned.position = spec::Position::learned;
  expect_the_same({tiny::latent(), tiny::latent(0), unturned},
                  {{"values not padded", {}, narrow},
                   {"chain", {}, chain},
                   {"tp", {.tp = 2}},
                   {"sequence parallel", {.tp = 4, .sp = true}, chain},
                   {"input kept", {.tp = 2, .sp = true}, overlapped(none, true)},
                   {"chunked", {.tp = 2, .sp = true}, overlapped(chunked, false)},
                   {"userbuffers", {.tp = 2, .sp = true}, overlapped(userbuffers, false)},
                   {"beside the weight gradient", {.tp = 2}, overlapped(wgrad, false)},
                   {"modules", {.tp = 2, .sp = true}, modules},
                   {"full", {.tp = 2, .sp = true}, recompute(Kind::full)},
                   {"zero 1", {.tp = 2, .sp = true, .dp = 2, .zero = 1}},
                   {"zero 3", {.tp = 2, .sp = true, .dp = 2, .zero = 3}},
                   {"zb-h1", {.tp = 2, .sp = true, .pp = 2, .schedule = Schedule::zb_h1}, barrier},
                   {"ring", {}, context(2, CpKind::ring, true)},
                   {"ring of four", {.tp = 2}, context(4, CpKind::ring, false)},
                   {"gathered", {}, context(2, CpKind::all_gather, true)},
                   {"ulysses", {}, context(2, CpKind::ulysses, true)}});
}

/// Every tensor-parallel rank has one key head, which two or four of them share: the gradients of its weights are those
/// of all their queries, and its share of the norm is counted once.
TEST(Strategies, HeadsOfKeysOnSeveralRanks) {
  expect_the_same({tiny::llama(), tiny::qk_norm(), tiny::parallel(1)},
                  {{"tp 4", {.tp = 4}},
                   {"sequence parallel, zero 1", {.tp = 4, .sp = true, .dp = 2, .zero = 1}},
                   {"zero 2", {.tp = 4, .dp = 2, .zero = 2}},
                   {"zero 3", {.tp = 4, .sp = true, .dp = 2, .zero = 3}},
                   {"zb-h1", {.tp = 4, .pp = 2, .schedule = Schedule::zb_h1}, barrier}});
}

TEST(Strategies, SeparateMatmulsAndGradients) {
  const auto eager = [](spec::Job& j) {
    j.framework.separate_linears = true;
    j.strategy.fused_kernels.grad_accumulation = false;
  };
  expect_the_same(kAll, {{"one rank", {}, eager}, {"tp 2", {.tp = 2, .sp = true}, eager}});
}

TEST(Strategies, DataParallel) {
  const auto all_reduced = [](spec::Job& j) { j.framework.all_reduces_shards = true; };
  const auto last = [](spec::Job& j) { j.framework.sums_replicas_last = true; };
  expect_the_same(kAll,
                  {{"ddp", {.dp = 2}},
                   {"ddp beside compute", {.dp = 4}, overlap(true, false)},
                   {"zero 1", {.dp = 2, .zero = 1}},
                   {"zero 1 beside compute", {.dp = 4, .zero = 1}, overlap(true, true)},
                   {"zero 1 in groups", {.dp = 4, .zero = 1}, shard(2)},
                   {"zero 1 all-reduced", {.dp = 4, .zero = 1}, all_reduced},
                   {"zero 2 all-reduced", {.dp = 4, .zero = 2}, all_reduced},
                   {"zero 2 all-reduced, tensor parallel", {.tp = 2, .sp = true, .dp = 2, .zero = 2}, all_reduced},
                   {"zero 1 in groups, all-reduced", {.dp = 4, .zero = 1}, both(shard(2), all_reduced)},
                   {"zero 2 in groups, all-reduced", {.dp = 4, .zero = 2}, both(shard(2), all_reduced)},
                   {"and sums last", {.dp = 4, .zero = 2}, both(both(shard(2), all_reduced), last)},
                   {"zero 2", {.dp = 4, .zero = 2}},
                   {"zero 3", {.dp = 4, .zero = 3}},
                   {"zero 3 computed again", {.dp = 2, .zero = 3}, recompute(Kind::full)},
                   {"zero 3 kept", {.dp = 2, .zero = 3}, [](spec::Job& j) { j.strategy.fsdp.reshard = false; }},
                   {"zero 3 reduced once",
                    {.dp = 2, .zero = 3},
                    [](spec::Job& j) { j.strategy.fsdp.sync_each_microbatch = false; }},
                   {"hsdp", {.dp = 4, .zero = 3}, shard(2)},
                   {"hsdp, sums last", {.dp = 4, .zero = 3}, both(shard(2), last)},
                   {"zero 2 in groups, sums last", {.dp = 4, .zero = 2}, both(shard(2), last)}});
}

TEST(Strategies, SmallBuckets) {
  // 404 bytes are 101 gradients: less than a matrix, so that buckets close inside a layer, and padded for 4 ranks.
  const auto buckets = [](spec::Job& j) {
    overlap(true, true)(j);
    j.framework.gradient_bucket = j.framework.parameter_bucket = base::Bytes(404);
  };
  expect_the_same(kAll, {{"ddp", {.dp = 2}, buckets}, {"zero 1", {.dp = 4, .zero = 1}, buckets}});
}

TEST(Strategies, TensorParallel) {
  const auto wgrad = [](spec::Job& j) { j.strategy.overlap.tp = spec::TpOverlap::wgrad; };
  expect_the_same(kDense, {{"tp", {.tp = 2}}, {"beside the weight gradient", {.tp = 2}, wgrad}});
  expect_the_same(kAll, {{"sequence parallel", {.tp = 2, .sp = true}},
                         {"sequence parallel beside the weight gradient", {.tp = 2, .sp = true}, wgrad},
                         {"and computed again", {.tp = 2, .sp = true}, recompute(Kind::full)},
                         {"with zero 1", {.tp = 2, .sp = true, .dp = 2, .zero = 1}},
                         {"with zero 3", {.tp = 2, .sp = true, .dp = 2, .zero = 3}}});
}

/// Recomputation that ends in front of the last matmul leaves all that the backward reads; copies of shards leave them
/// as they were.
TEST(Strategies, AsPyTorchShardsAndComputesAgain) {
  const auto torch = [](spec::Job& j) {
    recompute(Kind::full)(j);
    j.framework.stops_recompute = true;
    j.framework.keeps_gathered = j.framework.copies_sequence = true;
  };
  const std::vector<spec::Model> models{tiny::llama(4), tiny::gpt(4), tiny::moe(4), tiny::parallel(1),
                                        tiny::parallel(2)};
  expect_the_same(models, {{"one rank", {}, torch},
                           {"tp", {.tp = 2, .sp = true}, torch},
                           {"zero 3", {.tp = 2, .sp = true, .dp = 2, .zero = 3}, torch},
                           {"1f1b", {.tp = 2, .sp = true, .pp = 2}, torch},
                           {"piece by piece", {.tp = 2, .sp = true}, [&](spec::Job& j) {
                              torch(j);
                              j.strategy.overlap.tp = spec::TpOverlap::chunked;
                            }}});
}

TEST(Strategies, TensorParallelByBlocks) {
  const auto separate = [](spec::TpOverlap tp) {
    return [tp](spec::Job& j) {
      overlapped(tp, true)(j);
      j.framework.separate_linears = true;
    };
  };
  using enum spec::TpOverlap;
  expect_the_same(kAll, {{"chunked", {.tp = 2, .sp = true}, overlapped(chunked, false)},
                         {"chunked, separate matmuls", {.tp = 2, .sp = true}, separate(chunked)},
                         {"userbuffers", {.tp = 2, .sp = true}, overlapped(userbuffers, false)},
                         {"userbuffers, separate matmuls", {.tp = 2, .sp = true}, separate(userbuffers)}});
  expect_the_same(kDense, {{"userbuffers without sp", {.tp = 2}, overlapped(userbuffers, false)}});
  expect_the_same({tiny::gpt()}, {{"four ranks", {.tp = 4, .sp = true}, overlapped(userbuffers, false)},
                                  {"four ranks chunked", {.tp = 4, .sp = true}, overlapped(chunked, false)}});
}

TEST(Strategies, PipelineSchedules) {
  expect_the_same({tiny::llama(4), tiny::gpt(4), tiny::moe(4)},
                  {{"gpipe", {.pp = 2, .schedule = Schedule::gpipe}},
                   {"1f1b", {.pp = 4}},
                   {"interleaved", {.pp = 2, .vpp = 2}},
                   {"zb-h1", {.pp = 2, .schedule = Schedule::zb_h1}, barrier},
                   {"zb-h2", {.pp = 4, .schedule = Schedule::zb_h2}, barrier},
                   {"zb-v", {.pp = 2, .schedule = Schedule::zb_v}, barrier},
                   {"dualpipe", {.pp = 2, .schedule = Schedule::dualpipe}},
                   {"dualpipe", {.pp = 4, .schedule = Schedule::dualpipe}}});
}

/// An end of the model that has a stage for itself: its gradients are made with those of its inputs, whatever the
/// schedule puts off, and are reduced like all others.
TEST(Strategies, StagesOfAnEndAlone) {
  const auto layers = [](std::vector<int> of_stages) {
    return [of_stages](spec::Job& j) {
      barrier(j);
      j.strategy.stage_layers = of_stages;
    };
  };
  std::vector<Case> cases{{"dualpipe", {.pp = 2, .dp = 2, .schedule = Schedule::dualpipe}, layers({0, 4})},
                          {"zb-v", {.pp = 2, .dp = 2, .schedule = Schedule::zb_v}, layers({1, 2, 1, 0})}};
  for (const int zero : {0, 1, 2, 3}) {
    cases.push_back({"zb-h1", {.pp = 2, .dp = 2, .zero = zero, .schedule = Schedule::zb_h1}, layers({4, 0})});
    cases.push_back({"zb-h2", {.pp = 2, .dp = 2, .zero = zero, .schedule = Schedule::zb_h2}, layers({0, 4})});
  }
  expect_the_same({tiny::llama(4), tiny::gpt(4)}, cases);
}

TEST(Strategies, PipelinesWithTheRest) {
  const auto scattered = [](spec::Job& j) { j.framework.scatter_gather_pipeline = true; };
  expect_the_same(kDense, {{"tp", {.tp = 2, .pp = 2}, scattered}, {"ddp", {.tp = 2, .pp = 2, .dp = 2}}});
  expect_the_same(kAll, {{"sequence parallel, zero 1", {.tp = 2, .sp = true, .pp = 2, .dp = 2, .zero = 1}},
                         {"zero 2", {.pp = 2, .dp = 2, .zero = 2}},
                         {"zero 3", {.pp = 2, .dp = 2, .zero = 3}},
                         {"dualpipe, zero 1", {.pp = 2, .dp = 2, .zero = 1, .schedule = Schedule::dualpipe}},
                         {"zb-h1, zero 1", {.pp = 2, .dp = 2, .zero = 1, .schedule = Schedule::zb_h1}, barrier}});
}

/// Rows of embedding and head on every stage, whose passes lie between those of the layers; with one barrier a stage
/// goes on with its own softmax, which is corrected when those of all are known.
TEST(Strategies, VocabularyOverStages) {
  const auto spread = [](
                          int barriers, std::function<void(spec::Job&)> change = [](spec::Job&) {}) {
    return [=](spec::Job& j) {
      j.strategy.vocab_parallel = spec::VocabParallel::pipeline;
      j.strategy.vocab_barriers = barriers;
      change(j);
    };
  };
  const auto chain = [](spec::Job& j) { j.strategy.fused_kernels.cross_entropy = false; };
  const auto eager = [](spec::Job& j) {
    j.framework.separate_linears = true;
    j.strategy.fused_kernels.grad_accumulation = false;
  };
  spec::Model own_head = tiny::gpt(4);
  own_head.name = "tiny gpt with a head of its own";
  own_head.tied_embeddings = false;
  own_head.head_bias = true;
  own_head.embedding_norm = true;
  const std::vector<spec::Model> models{tiny::llama(4), tiny::gpt(4), own_head};
  for (const int barriers : {1, 2}) {
    expect_the_same(
        models,
        {{"two stages", {.pp = 2}, spread(barriers)},
         {"four stages", {.pp = 4}, spread(barriers)},
         {"interleaved", {.pp = 2, .vpp = 2}, spread(barriers)},
         {"loss as a chain", {.pp = 2}, spread(barriers, chain)},
         {"eager", {.pp = 2}, spread(barriers, eager)},
         {"computed again", {.pp = 2}, spread(barriers, recompute(Kind::full))},
         {"ddp", {.pp = 2, .dp = 2}, spread(barriers)},
         {"ddp beside compute", {.pp = 2, .dp = 2}, spread(barriers, overlap(true, false))},
         {"zero 1", {.pp = 2, .dp = 2, .zero = 1}, spread(barriers)},
         {"zero 1 beside compute", {.pp = 2, .vpp = 2, .dp = 2, .zero = 1}, spread(barriers, overlap(true, true))},
         {"ring", {.pp = 2}, spread(barriers, context(2, CpKind::ring, true))}});
  }
  expect_the_same(models, {{"tp", {.tp = 2, .pp = 2}, spread(2)},
                           {"sequence parallel", {.tp = 2, .sp = true, .pp = 4}, spread(2)},
                           {"with the rest",
                            {.tp = 2, .sp = true, .pp = 2, .vpp = 2, .dp = 2, .zero = 1},
                            spread(2, overlap(true, true))}});
  expect_the_same({tiny::moe(4)}, {{"experts", {.pp = 2, .dp = 2}, spread(1, experts(2, 1))}});
}

/// Weight gradients apart, two copies of the model, a V whose first stage has the table of both ends: what a unit
/// gathers, scatters and lets go of.
TEST(Strategies, ShardsUnderSchedulesThatSplitTheBackward) {
  using enum Schedule;
  const auto fsdp = [](spec::Fsdp fsdp, int shard = 0) {
    return [=](spec::Job& j) {
      barrier(j);
      overlap(true, true)(j);
      j.strategy.fsdp = fsdp;
      j.strategy.shard = shard;
    };
  };
  const auto sums_last = [](spec::Job& j) { j.framework.sums_replicas_last = true; };
  const auto copied = [](bool bucketed) {
    return [=](spec::Job& j) {
      barrier(j);
      j.framework.unit_copies = true;
      j.framework.bucketed_units = bucketed;
      j.strategy.fused_kernels.grad_accumulation = false;
      j.framework.gradient_bucket = base::Bytes(1000);
    };
  };
  const auto experts_of = [&](auto change) { return [=](spec::Job& j) { experts(2, 1)(j), change(j); }; };
  const auto batch_of_16 = [&](auto change) {  // 4 microbatches of 4 replicas
    return [=](spec::Job& j) { change(j), j.training.global_batch = 16; };
  };
  expect_the_same(
      {tiny::llama(8), tiny::gpt(8)},
      {{"zb-h1, zero 2", {.pp = 2, .dp = 2, .zero = 2, .schedule = zb_h1}, barrier},
       {"zb-h1, zero 3", {.pp = 4, .dp = 2, .zero = 3, .schedule = zb_h1}, fsdp({})},
       {"zb-h2, zero 3", {.pp = 2, .dp = 2, .zero = 3, .schedule = zb_h2}, fsdp({.prefetch = 3})},
       {"zb-v, zero 2", {.pp = 2, .dp = 2, .zero = 2, .schedule = zb_v}, copied(false)},
       {"zb-v, zero 3", {.tp = 2, .sp = true, .pp = 2, .dp = 2, .zero = 3, .schedule = zb_v}, fsdp({.unit = 2})},
       {"zb-v, hsdp", {.pp = 2, .dp = 4, .zero = 3, .schedule = zb_v}, fsdp({.prefetch = 0}, 2)},
       {"zb-v, hsdp, sums last", {.pp = 2, .dp = 4, .zero = 3, .schedule = zb_v}, both(fsdp({}, 2), sums_last)},
       {"zb-v, zero 2 as torchtitan has it",
        {.pp = 2, .dp = 2, .zero = 2, .schedule = zb_v},
        fsdp({.sync_each_microbatch = false})},
       {"dualpipe, zero 2, whole sums",
        {.pp = 2, .dp = 2, .zero = 2, .schedule = dualpipe},
        fsdp({.sync_each_microbatch = false})},
       {"zb-v as torchtitan has it",
        {.pp = 2, .dp = 2, .zero = 3, .schedule = zb_v},
        fsdp({.reshard = false, .sync_each_microbatch = false})},
       {"zb-h1, copies", {.pp = 2, .dp = 2, .zero = 3, .schedule = zb_h1}, copied(true)},
       {"zb-v, copies", {.pp = 2, .dp = 2, .zero = 3, .schedule = zb_v}, copied(false)},
       {"dualpipe, zero 2", {.pp = 2, .dp = 2, .zero = 2, .schedule = dualpipe}},
       {"dualpipe, zero 3", {.pp = 2, .dp = 2, .zero = 3, .schedule = dualpipe}, fsdp({.unit = 2})},
       {"dualpipe, hsdp", {.pp = 2, .dp = 4, .zero = 3, .schedule = dualpipe}, batch_of_16(fsdp({.prefetch = 8}, 2))},
       {"dualpipe, hsdp, sums last",
        {.pp = 2, .dp = 4, .zero = 3, .schedule = dualpipe},
        batch_of_16(both(fsdp({}, 2), sums_last))},
       {"dualpipe, kept",
        {.pp = 2, .dp = 2, .zero = 3, .schedule = dualpipe},
        fsdp({.reshard = false, .sync_each_microbatch = false})}});
  expect_the_same({tiny::moe(8)},
                  {{"zb-v, zero 3", {.pp = 2, .dp = 2, .zero = 3, .schedule = zb_v}, experts_of(fsdp({}))},
                   {"dualpipe, zero 2", {.pp = 2, .dp = 2, .zero = 2, .schedule = dualpipe}, experts(2, 1)},
                   {"dualpipe, zero 3",
                    {.pp = 2, .dp = 4, .zero = 3, .schedule = dualpipe},
                    batch_of_16(experts_of(fsdp({.prefetch = 8})))}});
}

/// Where no stage waits for the others, the next step gathers what the optimizer of this one has written: the check of
/// events would tell.
TEST(Strategies, ShardsAreGatheredBehindTheOptimizerOfTheStepBefore) {
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::zb_h1, Schedule::zb_v, Schedule::dualpipe}) {
    spec::Job job = tiny::draft(tiny::llama(4), {.pp = 2, .dp = 2, .zero = 3, .schedule = schedule});
    job.strategy.optimizer_barrier = false;
    EXPECT_EQ(tiny::run(toy::resolved(job), 3).losses.size(), 3u);
  }
}

/// As torchtitan has it: keys and values of every query head, which come at once and are merged in fp32.
TEST(Strategies, KeysAndValuesCopiedToEveryQueryHead) {
  const auto framework = [](bool at_once, auto change) {
    return [=](spec::Job& j) {
      change(j);
      j.framework.expands_kv = true;
      j.framework.ring_gathers = at_once;
    };
  };
  const auto copied = [&](auto change) { return framework(false, change); };
  const auto at_once = [&](auto change) { return framework(true, change); };
  const auto unfused = [](spec::Job& j) { j.strategy.attention_kernel = spec::AttentionKernel::unfused; };
  expect_the_same(
      {tiny::llama(), tiny::qk_norm(), tiny::parallel(1)},
      {{"one rank", {}, copied([](spec::Job&) {})},
       {"computed again", {}, copied(recompute(Kind::full))},
       {"attention computed again", {.pp = 2}, copied(recompute(Kind::selective))},
       {"tp", {.tp = 2, .sp = true}, copied([](spec::Job&) {})},
       {"written scores", {}, copied(unfused)},
       {"ring", {}, copied(context(4, CpKind::ring, true))},
       {"gathered", {}, copied(context(2, CpKind::all_gather, true, 2))},
       {"ulysses", {}, copied(context(2, CpKind::ulysses, true))},
       {"ring at once", {}, at_once(context(2, CpKind::ring, true, 2))},
       {"ring at once of four", {}, at_once(context(4, CpKind::ring, false))},
       {"ring at once, tp, zero 3", {.tp = 2, .dp = 2, .zero = 3}, at_once(context(2, CpKind::ring, true))}});
}

TEST(Strategies, ContextParallel) {
  for (const CpKind kind : {CpKind::ring, CpKind::all_gather, CpKind::ulysses}) {
    expect_the_same(kDense, {{"zigzag", {}, context(2, kind, true, 2)},
                             {"contiguous", {}, context(2, kind, false)},
                             {"four ranks", {}, context(4, kind, true)},
                             {"with tp and dp", {.tp = 2, .sp = true, .dp = 2}, context(2, kind, true)},
                             {"with zero 3", {.dp = 2, .zero = 3}, context(2, kind, true)}});
  }
}

TEST(Strategies, ContextParallelWindows) {
  spec::Model model = tiny::llama();
  model.name = "tiny windowed";
  model.window = 3;
  for (const CpKind kind : {CpKind::ring, CpKind::all_gather, CpKind::ulysses}) {
    expect_the_same({model}, {{"zigzag", {}, context(4, kind, true)}, {"contiguous", {}, context(4, kind, false)}});
  }
  const auto at_once = [](spec::Job& j) {
    context(4, CpKind::ring, true)(j);
    j.framework.ring_gathers = true;
  };
  expect_the_same(model, {{"at once", {}, at_once}});
}

/// Ulysses leaves a rank whole sequences of some heads.
TEST(Strategies, ContextParallelChunks) {
  spec::Model model = tiny::llama();
  for (const std::int64_t chunk : {4, 3}) {
    model.name = "tiny chunks of " + std::to_string(chunk);
    model.attention_chunk = chunk;
    expect_the_same({model}, {{"zigzag", {}, context(2, CpKind::ulysses, true, 2)},
                              {"contiguous", {.tp = 2}, context(2, CpKind::ulysses, false)}});
  }
}

}  // namespace
