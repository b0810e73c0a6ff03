// tests/gpu/training/training_test.cpp -- real mode's GPU backend computes what the CPU backend does, to bf16's
// rounding, under every kind of strategy; and on emulated GPUs the same to the last bit in whatever order events let
// its streams run. SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/training/near.h"

namespace {

using gpus::dropout;
using gpus::expect_near;
using gpus::fp8;
using gpus::job_of;
using gpus::kBf16;
using gpus::kFp8;
using gpus::kFp8Since;
using gpus::lora;
using gpus::offload;
using gpus::one_each;
using gpus::packed;
using spec::Dtype;
using tiny::both;
using tiny::Case;
using tiny::Change;
using tiny::context;
using tiny::experts;
using tiny::overlap_tp;
using tiny::recompute;
using Kind = spec::Recompute::Kind;
using enum spec::TpOverlap;

TEST(Training, OneRank) {
  const std::vector<Case> alone{{"one rank", {}}};
  for (const spec::Model& model : {tiny::llama(), tiny::moe()}) expect_near(model, alone);
  for (const spec::Model& model : {tiny::gpt(), tiny::qk_norm(), tiny::parallel(1), tiny::latent(), tiny::sinks(),
                                   tiny::alibi(), tiny::ahead(tiny::llama(), 1)}) {
    expect_near(model, alone, {.twice = false});
  }
}

TEST(Training, LibrariesTakeWhatTheyShould) {
  const gpus::Trained dense = gpus::train(job_of(tiny::llama(), {"", {}}), {.steps = 1});
  EXPECT_THAT(dense.plain_attention, testing::IsEmpty());
  const gpus::Trained sparse = gpus::train(job_of(tiny::moe(), {"", {}}), {.steps = 1});
  EXPECT_THAT(sparse.experts_one_by_one,
              testing::ElementsAre("cuBLAS has no grouped matmul for bf16 operands and fp32 results"));
}

TEST(Training, TensorParallel) {
  expect_near(tiny::llama(), {{"tp", {.tp = 2}},
                              {"sp", {.tp = 2, .sp = true}},
                              {"beside the weight gradient", {.tp = 2, .sp = true}, overlap_tp(wgrad)},
                              {"chunked", {.tp = 2, .sp = true}, overlap_tp(chunked)},
                              {"userbuffers", {.tp = 2, .sp = true}, overlap_tp(userbuffers)},
                              {"operators computed again", {.tp = 2, .sp = true}, recompute(Kind::selective_ops)}});
}

TEST(Training, PipelineParallel) {
  using spec::Schedule;
  expect_near(tiny::gpt(4), {{"1f1b", {.pp = 2}},
                             {"interleaved", {.pp = 2, .vpp = 2}, recompute(Kind::full)},
                             {"zero bubble", {.pp = 2, .schedule = Schedule::zb_h1}, tiny::barrier},
                             {"without a flush", {.pp = 2, .schedule = Schedule::pipedream}}});
  expect_near(tiny::llama(4), {{"vocabulary over stages", {.pp = 2}, [](spec::Job& j) {
                                  j.strategy.vocab_parallel = spec::VocabParallel::pipeline;
                                }}});
  // Its first messages cross: each rank sends on a channel that the other receives on later.
  expect_near(tiny::gpt(4), {{"dualpipe", {.pp = 2, .schedule = Schedule::dualpipe}, [](spec::Job& j) {
                                j.training.global_batch = 4;  // an even number of microbatches, two a stage at least
                                j.training.micro_batch = 1;
                              }}});
}

TEST(Training, DataParallel) {
  expect_near(tiny::llama(), {{"zero 0", {.dp = 2}},
                              {"zero 1", {.dp = 2, .zero = 1}, tiny::overlap(true, true)},
                              {"zero 2", {.dp = 2, .zero = 2}, tiny::overlap(true, true)},
                              {"zero 3", {.dp = 2, .zero = 3}, tiny::overlap(true, true)},
                              {"over half of the ranks", {.dp = 4, .zero = 3}, tiny::shard(2)}});
}

TEST(Training, ContextParallel) {
  using spec::CpKind;
  expect_near(tiny::llama(), {{"ring", {}, context(2, CpKind::ring, true)},
                              {"all-gather", {}, context(2, CpKind::all_gather, true)},
                              {"ulysses", {}, context(2, CpKind::ulysses, false)},
                              {"documents on a ring", {}, both(context(2, CpKind::ring, true), packed({5, 2, 9}))}});
}

// Of so few tokens that none is as near to two experts as bf16 can tell.
TEST(Training, Experts) {
  const auto gathered = [](spec::Job& j) { j.strategy.moe_dispatcher = spec::MoeDispatcher::allgather; };
  const auto capacity = [](spec::Job& j) { j.strategy.moe_capacity_factor = 1.75; };
  expect_near(tiny::moe(), {{"ep", {.dp = 2}, both(experts(2), one_each)},
                            {"ep beside tp", {.tp = 2, .sp = true}, experts(2)},
                            {"etp", {.dp = 2}, both(experts(1, 2), one_each)},
                            {"all tokens gathered", {.dp = 2}, both(experts(2), gathered, one_each)},
                            {"with a capacity", {.dp = 2}, both(experts(2), capacity, one_each)},
                            {"zero 3", {.dp = 2, .zero = 3}, both(experts(2), one_each)}});
}

TEST(Training, Offloading) {
  using To = spec::Offload::To;
  expect_near(tiny::llama(),
              {{"activations", {}, offload({.activations = true})},
               {"parameters", {.dp = 2, .zero = 3}, offload({.optimizer = To::none, .parameters = To::cpu})}});
  // Their gradients are on the host, where nobody reads them.
  expect_near(tiny::llama(),
              {{"optimizer", {.dp = 2, .zero = 1}, offload({.optimizer = To::cpu})},
               {"all", {.dp = 2, .zero = 3}, offload({.optimizer = To::cpu, .parameters = To::cpu})},
               {"on drives", {.dp = 2, .zero = 3}, offload({.optimizer = To::nvme, .parameters = To::nvme}, 4000)}},
              {kBf16, false});
}

TEST(Training, AdaptersDropoutDocumentsAndOptimizers) {
  const auto optimizer = [](spec::Optimizer kind) { return [=](spec::Job& j) { j.training.optimizer = kind; }; };
  const auto in_bf16 = [](spec::Job& j) { j.training.moments_dtype = Dtype::bf16; };
  expect_near(tiny::llama(), {{"adapters", {}, lora},
                              {"dropout", {.tp = 2, .sp = true}, both(dropout, tiny::unfused())},
                              {"documents", {}, packed({5, 2, 9})},
                              {"documents, scores written", {}, both(packed({5, 2, 9}), tiny::unfused())},
                              {"sgd", {}, optimizer(spec::Optimizer::sgd)},
                              {"8-bit moments", {.dp = 2, .zero = 1}, optimizer(spec::Optimizer::adamw8bit)},
                              {"moments in bf16", {}, in_bf16}});
}

TEST(Training, EightBits) {
  if (gpus::capability() < kFp8Since) GTEST_SKIP() << "this GPU has no fp8";
  using enum spec::Fp8Recipe;
  std::vector<Case> cases{{"tensorwise", {}, fp8(tensorwise)}, {"delayed", {.tp = 2, .sp = true}, fp8(delayed)}};
  if (gpus::capability() == gpus::kScalesOfRows) {
    cases.push_back({"rowwise", {}, fp8(rowwise)});
    cases.push_back({"blockwise", {.dp = 2, .zero = 3}, fp8(blockwise)});
  }
  gpus::expect_near_and_rounded_alike(tiny::llama(), cases);
}

TEST(Training, EightBitsOfBlackwell) {
  const gpus::Posing blackwell(100);
  if (!blackwell) GTEST_SKIP() << "this GPU has no mxfp8";
  const auto mx = [](spec::Job& j) {
    j.cluster.node.gpu.generation = spec::Generation::blackwell;
    j.training.precision = Dtype::mxfp8;
  };
  gpus::expect_near_and_rounded_alike(tiny::llama(), {{"mxfp8", {}, mx}});
}

TEST(Training, ExpertsInEightBits) {
  if (gpus::capability() < kFp8Since) GTEST_SKIP() << "this GPU has no fp8";
  expect_near(tiny::moe(), {{"tensorwise", {.dp = 2}, both(experts(2), fp8(spec::Fp8Recipe::tensorwise), one_each)}},
              {kFp8, false});
}

/// Emulated, to the last bit.
void expect_alike(const std::vector<double>& graphs, const std::vector<double>& plain, double close) {
  ASSERT_EQ(graphs.size(), plain.size());
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    EXPECT_NEAR(graphs[i] / plain[i], 1, gpus::emulated() ? 0 : close);
  }
}

// What is captured is another step of the same job: its loss, norm and weights are those of a step that is not. Graphs
// run again and again, in whatever order their edges allow, and end with the same weights.
TEST(Training, CapturedSteps) {
  for (const toy::Cut& cut :
       std::vector<toy::Cut>{{}, {.tp = 2, .sp = true}, {.dp = 2, .zero = 1}, {.dp = 2, .zero = 3}, {.pp = 2}}) {
    if (cut.tp * cut.dp * cut.pp > gpus::count()) continue;
    const auto graphs = [](bool on) -> Change {
      return [on](spec::Job& j) { j.strategy.cuda_graphs = on ? spec::CudaGraphs::whole : spec::CudaGraphs::none; };
    };
    const spec::Job eager = job_of(tiny::llama(), {"", cut, both(graphs(false), dropout)});
    const spec::Job captured = job_of(tiny::llama(), {"", cut, both(graphs(true), dropout)});
    SCOPED_TRACE(cut.tp * 1000 + cut.pp * 100 + cut.dp * 10 + cut.zero);
    const auto run = [](const spec::Job& job, unsigned seed, int runs) {
      return gpus::train(job, {.seed = seed, .runs_captured = runs, .keeps_gradients = false});
    };
    const gpus::Trained plain = run(eager, 1, 0), graphs_run = run(captured, 2, 2), again = run(captured, 3, 2);
    expect_alike(graphs_run.run.losses, plain.run.losses, kBf16.loss);
    expect_alike(graphs_run.run.norms, plain.run.norms, kBf16.norm);
    EXPECT_TRUE(graphs_run.masters == again.masters || !gpus::emulated());
    EXPECT_FALSE(graphs_run.masters == plain.masters);  // each run is a step
    EXPECT_GT(again.reserved, 0);
  }
}

}  // namespace
