// tests/emulated_gpu/training_test.cpp -- real mode's GPU backend computes what the CPU backend does, to bf16's
// rounding, under every kind of strategy; and the same to the last bit in whatever order events let its streams run.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <numeric>

#include "real/gpu/rank_run.h"
#include "real/measure/supported.h"
#include "tests/emulated_gpu/device.h"
#include "tests/emulated_gpu/train.h"
#include "tests/real/executor/cases.h"

namespace {

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

/// Wide enough for what fp8 asks of cuBLASLt on two ranks: sides of a multiple of 16 numbers.
spec::Model of_size(spec::Model m) {
  m.hidden = 64;
  m.head_dim = 16;
  m.ffn = 96;
  m.vocab = 64;
  if (m.moe) m.moe->ffn = m.moe->shared_ffn = 32;
  return m;
}

spec::Job job_of(const spec::Model& model, const Case& c) {
  spec::Job job = tiny::draft(of_size(model), c.cut, 2 * c.cut.dp);
  job.training.sequence = 16;
  job.cluster.node.pcie.bandwidth = base::GBps(10);
  job.cluster.node.host = {.memory = base::GB(100), .bandwidth = base::GBps(100)};
  job.cluster.node.nvme.read = job.cluster.node.nvme.write = base::GBps(5);
  job.cluster.node.gpu.generation = spec::Generation::hopper;
  for (const Dtype narrow : {Dtype::fp8, Dtype::mxfp8}) {
    job.cluster.node.gpu.peak[static_cast<int>(narrow)] = base::TFLOPps(2000);
  }
  c.change(job);
  return toy::resolved(job);
}

double length(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

std::vector<double> minus(std::vector<double> x, const std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return x;
}

/// How far a run in bf16 may be from one in double. Of a parameter's gradient: length of the difference over its
/// length.
struct Close {
  double loss, norm, gradient;
};
constexpr Close kBf16{0.002, 0.01, 0.08};
constexpr Close kFp8{0.01, 0.03, 0.3};

struct Check {
  Close close = kBf16;
  bool gradients = true;
  bool twice = true;
};

void expect_close(const tiny::Run& cpu, const tiny::Run& gpu, const Close& close) {
  EXPECT_NEAR(gpu.losses[0] / cpu.losses[0], 1, close.loss);
  if (!std::isnan(cpu.norms[0])) {
    EXPECT_NEAR(gpu.norms[0] / cpu.norms[0], 1, close.norm);
  }
  EXPECT_EQ(gpu.copies_apart, 0);
  EXPECT_TRUE(gpu.gradients.empty() || gpu.gradients.size() == cpu.gradients.size());
  for (const auto& [key, gradient] : gpu.gradients) {
    const std::vector<double>& expected = cpu.gradients.at(key);
    EXPECT_LT(length(minus(gradient, expected)) / std::max(length(expected), 1e-30), close.gradient)
        << key.second << " of layer " << key.first;
  }
}

struct Pair {
  tiny::Run cpu, gpu;
};

/// Of each case. Gradients and losses are looked at in the first step: in later ones small differences have grown. Two
/// runs in which streams take their turns otherwise are the same.
std::vector<Pair> expect_near(const spec::Model& model, const std::vector<Case>& cases, const Check& check = {}) {
  std::vector<Pair> out;
  unsigned seed = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + c.name);
    const spec::Job job = job_of(model, c);
    const plan::Plan plan = plan::build(job);
    for (const base::Fault& fault : real::unsupported_on_gpu(job, plan, plan.axes.ranks * plan.axes.stages)) {
      ADD_FAILURE() << fault.field << ": " << fault.what;
    }
    const emulated_gpu::Trained one = emulated_gpu::train(job, {.seed = seed++, .keeps_gradients = check.gradients});
    expect_close(out.emplace_back(tiny::run(job, 1), one.run).cpu, one.run, check.close);
    EXPECT_THAT(one.wrongly_told, testing::IsEmpty());
    if (!check.twice) continue;
    const emulated_gpu::Trained other = emulated_gpu::train(job, {.seed = seed++, .keeps_gradients = false});
    EXPECT_EQ(one.run.losses, other.run.losses);
    EXPECT_TRUE(one.masters == other.masters);
    EXPECT_EQ(one.masters.empty(), job.strategy.offload.updates_on_host());
  }
  return out;
}

Change offload(const spec::Offload& offload, std::int64_t tile = 0) {
  return [=](spec::Job& j) {
    j.framework.optimizer_tile = base::Bytes(static_cast<double>(tile));
    j.strategy.offload = offload;
    j.strategy.offload_given = true;
  };
}
Change fp8(spec::Fp8Recipe recipe) {
  return [=](spec::Job& j) {
    j.training.precision = Dtype::fp8;
    j.training.fp8_recipe = recipe;
  };
}
Change packed(std::vector<std::int64_t> lengths) {
  return [=](spec::Job& j) { j.training.packing = {.lengths = lengths}; };
}
void lora(spec::Job& j) { j.strategy.lora = {.rank = 8, .qkv = true, .proj = true, .ffn = true}; }
void dropout(spec::Job& j) { j.training.dropout = 0.1; }

TEST(Training, OneRank) {
  const std::vector<Case> alone{{"one rank", {}}};
  for (const spec::Model& model : {tiny::llama(), tiny::moe()}) expect_near(model, alone);
  for (const spec::Model& model : {tiny::gpt(), tiny::qk_norm(), tiny::parallel(1), tiny::latent(), tiny::sinks(),
                                   tiny::alibi(), tiny::ahead(tiny::llama(), 1)}) {
    expect_near(model, alone, {.twice = false});
  }
}

TEST(Training, LibrariesTakeWhatTheyShould) {
  const emulated_gpu::Trained dense = emulated_gpu::train(job_of(tiny::llama(), {"", {}}), {.steps = 1});
  EXPECT_THAT(dense.plain_attention, testing::IsEmpty());
  const emulated_gpu::Trained sparse = emulated_gpu::train(job_of(tiny::moe(), {"", {}}), {.steps = 1});
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
  const auto one_each = [](spec::Job& j) { j.training.global_batch = 2; };
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

/// All gradients, one behind the other.
std::vector<double> joined(const tiny::Run& run) {
  std::vector<double> out;
  for (const auto& [key, gradient] : run.gradients) out.insert(out.end(), gradient.begin(), gradient.end());
  return out;
}

// Rounding to 8 bits moves gradients by a fifth; that both backends round alike shows in errors that agree. Not all do:
// a number that bf16 has moved across the middle of two codes gets the other one.
TEST(Training, EightBits) {
  using enum spec::Fp8Recipe;
  const std::vector<Case> cases{{"tensorwise", {}, fp8(tensorwise)},
                                {"delayed", {.tp = 2, .sp = true}, fp8(delayed)},
                                {"rowwise", {}, fp8(rowwise)},
                                {"blockwise", {.dp = 2, .zero = 3}, fp8(blockwise)}};
  const std::vector<Pair> runs = expect_near(tiny::llama(), cases, {kFp8});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    spec::Job wide = job_of(tiny::llama(), cases[i]);
    wide.training.precision = Dtype::bf16;
    const std::vector<double> exact = joined(tiny::run(wide, 1));
    const std::vector<double> of_cpu = minus(joined(runs[i].cpu), exact), of_gpu = minus(joined(runs[i].gpu), exact);
    const double agree = std::inner_product(of_cpu.begin(), of_cpu.end(), of_gpu.begin(), 0.0);
    EXPECT_GT(agree / (length(of_cpu) * length(of_gpu)), 0.4) << cases[i].name;
  }
}

TEST(Training, EightBitsOfBlackwell) {
  setenv("FORERUN_EMULATED_CAPABILITY", "100", 1);
  const auto mx = [](spec::Job& j) {
    j.cluster.node.gpu.generation = spec::Generation::blackwell;
    j.training.precision = Dtype::mxfp8;
  };
  expect_near(tiny::llama(), {{"mxfp8", {}, mx}}, {kFp8});
  unsetenv("FORERUN_EMULATED_CAPABILITY");
}

TEST(Training, ExpertsInEightBits) {
  const auto one_each = [](spec::Job& j) { j.training.global_batch = 2; };
  expect_near(tiny::moe(), {{"tensorwise", {.dp = 2}, both(experts(2), fp8(spec::Fp8Recipe::tensorwise), one_each)}},
              {kFp8, false});
}

// What is captured is another step of the same job: its loss, norm and weights are those of a step that is not. Graphs
// run again and again, in whatever order their edges allow, and end with the same weights.
TEST(Training, CapturedSteps) {
  for (const toy::Cut& cut :
       std::vector<toy::Cut>{{}, {.tp = 2, .sp = true}, {.dp = 2, .zero = 1}, {.dp = 2, .zero = 3}, {.pp = 2}}) {
    const auto graphs = [](bool on) -> Change { return [on](spec::Job& j) { j.strategy.cuda_graphs = on; }; };
    const spec::Job eager = job_of(tiny::llama(), {"", cut, both(graphs(false), dropout)});
    const spec::Job captured = job_of(tiny::llama(), {"", cut, both(graphs(true), dropout)});
    SCOPED_TRACE(cut.tp * 1000 + cut.pp * 100 + cut.dp * 10 + cut.zero);
    const auto run = [](const spec::Job& job, unsigned seed, int runs) {
      return emulated_gpu::train(job, {.seed = seed, .runs_captured = runs, .keeps_gradients = false});
    };
    const emulated_gpu::Trained plain = run(eager, 1, 0), graphs_run = run(captured, 2, 2), again = run(captured, 3, 2);
    EXPECT_EQ(plain.run.losses, graphs_run.run.losses);
    EXPECT_EQ(plain.run.norms, graphs_run.run.norms);
    EXPECT_TRUE(graphs_run.masters == again.masters);
    EXPECT_FALSE(graphs_run.masters == plain.masters);  // each run is a step
    EXPECT_GT(again.reserved, 0);
  }
}

/// A rank's whole run as forerun-worker makes it, of a job for one GPU.
real::RankRun rank_run(const spec::Job& job, const real::Steps& steps) {
  emulated_gpu::set_schedule(5);
  std::vector<real::World> worlds = real::in_process(1);
  const real::CurrentDevice current(0);
  real::RankRun out = real::run_rank(worlds.front(), job, plan::build(job), real::facts(0), steps);
  emulated_gpu::Device::at(0).reset();
  emulated_gpu::set_schedule(std::nullopt);
  return out;
}

TEST(ARankRun, TimesItsStepsAndRecordsOneMore) {
  const auto on_host = both(offload({.optimizer = spec::Offload::To::cpu, .activations = true}),
                            [](spec::Job& j) { j.strategy.zero = 1; });
  for (const auto& [model, change] :
       std::vector<std::pair<spec::Model, Change>>{{tiny::llama(), [](spec::Job&) {}},
                                                   {tiny::moe(), dropout},
                                                   {tiny::llama(), fp8(spec::Fp8Recipe::delayed)},
                                                   {tiny::llama(), both(lora, packed({5, 2, 9}))},
                                                   {tiny::llama(), on_host}}) {
    const spec::Job job = job_of(model, {"", {}, change});
    const real::RankRun run = rank_run(job, {.warmup = 1, .timed = 2, .recorded = true});
    EXPECT_EQ(run.times.size(), 2u);
    EXPECT_EQ(run.losses.size(), 3u);
    EXPECT_TRUE(std::isfinite(run.losses.back()));
    ASSERT_TRUE(run.trace);  // else it would have been void, and said so
    std::size_t spans = 0;
    for (const trace::Track& track : run.trace->trace.tracks) spans += track.spans.size();
    EXPECT_GT(spans, 100u);
    EXPECT_EQ(run.plain_attention.empty(), !model.moe);  // dropout goes by the place of a score
  }
}

TEST(ARankRun, TimesTheGraphsOfACapturedStep) {
  const spec::Job job = job_of(tiny::llama(), {"", {}, [](spec::Job& j) { j.strategy.cuda_graphs = true; }});
  const real::RankRun run = rank_run(job, {.warmup = 2, .timed = 3, .recorded = true, .captured = true});
  EXPECT_EQ(run.times.size(), 3u);
  EXPECT_EQ(run.losses.size(), 3u);  // of the warm-up and of the step that was captured
  EXPECT_TRUE(run.trace);
}

std::string what_fails(const spec::Job& job, const emulated_gpu::Training& training) {
  try {
    emulated_gpu::train(job, training);
  } catch (const base::DeviceError& error) {
    return error.what();
  }
  return "";
}

TEST(Failures, OfMemorySayWhatTookIt) {
  const spec::Job job = job_of(tiny::llama(), {"", {}});
  emulated_gpu::Device::at(0).set_memory((32 << 20) + (1300 << 10));  // beside cuBLASLt's 32 MiB
  const std::string said = what_fails(job, {});
  emulated_gpu::Device::at(0).set_memory(std::size_t{80} << 30);
  EXPECT_THAT(said,
              testing::MatchesRegex("rank 0: .* more \\(.*\\) do not fit on GPU 0 of .*; taken are .*parameters.*\n"));
}

TEST(Failures, OfAGpuEndAllRanksAndNameIt) {
  const spec::Job job = job_of(tiny::llama(), {"", {.dp = 2, .zero = 3}});
  const auto breaks = [](int rank, int step) {
    if (rank == 1 && step == 1) emulated_gpu::Device::at(1).fail("an uncorrectable error");
  };
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    const std::string said = what_fails(job, {.seed = seed, .before_step = breaks});
    EXPECT_THAT(said, testing::HasSubstr("rank 1: "));
    EXPECT_THAT(said, testing::HasSubstr("an uncorrectable error"));
    EXPECT_THAT(said, testing::ContainsRegex("rank 0: .*rank 1 gave up"));
  }
}

TEST(Failures, OfARankEndTheOthers) {
  const spec::Job job = job_of(tiny::llama(), {"", {.tp = 2, .sp = true}});
  const auto leaves = [](int rank, int step) {
    if (rank == 1 && step == 1) throw base::DeviceError("has had enough");
  };
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    const std::string said = what_fails(job, {.seed = seed, .before_step = leaves});
    EXPECT_THAT(said, testing::HasSubstr("rank 1: has had enough"));
    EXPECT_THAT(said, testing::ContainsRegex("rank 0: .*rank 1 gave up: has had enough"));
  }
}

}  // namespace
