// tests/emulated_gpu/training_test.cpp -- real mode's GPU backend computes what the CPU backend does, to bf16's
// rounding, under every kind of strategy; and the same to the last bit in whatever order events let its streams run.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

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

/// How far a run in bf16 may be from one in double. Of a parameter's gradient: length of the difference over its
/// length.
struct Close {
  double loss, norm, gradient;
};
constexpr Close kBf16{0.002, 0.01, 0.08};
constexpr Close kFp8{0.01, 0.03, 0.3};

double length(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

void expect_close(const tiny::Run& cpu, const tiny::Run& gpu, const Close& close) {
  double loss = 0, norm = 0, most = 0;
  std::string worst;
  for (std::size_t i = 0; i < cpu.losses.size(); ++i) {
    EXPECT_NEAR(gpu.losses[i] / cpu.losses[i], 1, close.loss) << "loss of step " << i;
    loss = std::max(loss, std::abs(gpu.losses[i] / cpu.losses[i] - 1));
    if (std::isnan(cpu.norms[i])) continue;
    EXPECT_NEAR(gpu.norms[i] / cpu.norms[i], 1, close.norm) << "norm of step " << i;
    norm = std::max(norm, std::abs(gpu.norms[i] / cpu.norms[i] - 1));
  }
  EXPECT_EQ(gpu.copies_apart, 0);
  if (gpu.gradients.empty()) return;
  for (const auto& [key, of_cpu] : cpu.gradients) {
    std::vector<double> apart = gpu.gradients.at(key);
    for (std::size_t i = 0; i < apart.size(); ++i) apart[i] -= of_cpu[i];
    const double far = length(apart) / std::max(length(of_cpu), 1e-30);
    EXPECT_LT(far, close.gradient) << key.second << " of layer " << key.first;
    if (!(far <= most)) most = far, worst = key.second;
  }
  if (getenv("LOOK"))
    printf("  loss %.4f norm %.4f gradient %.4f %s\n", loss, norm, most, worst.c_str()), fflush(stdout);
}

/// Gradients and losses are looked at in the first step: in later ones small differences have grown. Two runs in which
/// streams take their turns otherwise are the same.
void expect_near(const spec::Model& model, const std::vector<Case>& cases, const Close& close = kBf16,
                 bool keeps_gradients = true) {
  unsigned seed = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + c.name);
    if (getenv("LOOK")) printf("%s, %s\n", model.name.c_str(), c.name), fflush(stdout);
    const spec::Job job = job_of(model, c);
    const plan::Plan plan = plan::build(job);
    for (const base::Fault& fault : real::unsupported_on_gpu(job, plan, plan.axes.ranks * plan.axes.stages)) {
      ADD_FAILURE() << fault.field << ": " << fault.what;
    }
    const emulated_gpu::Trained one = emulated_gpu::train(job, {.seed = seed, .keeps_gradients = keeps_gradients});
    const emulated_gpu::Trained other = emulated_gpu::train(job, {.seed = seed + 1, .keeps_gradients = false});
    seed += 2;
    expect_close(tiny::run(job, 1), one.run, close);
    if (getenv("LOOK") && job.training.precision == Dtype::fp8) {
      spec::Job wide = job;
      wide.training.precision = Dtype::bf16;
      wide.training.fp8_recipe = {};
      const tiny::Run exact = tiny::run(wide, 1), narrow = tiny::run(job, 1);
      double a = 0, b = 0, c = 0;
      for (const auto& [key, x] : narrow.gradients)
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double g = one.run.gradients.at(key)[i], e = exact.gradients.at(key)[i];
          a += (x[i] - g) * (x[i] - g);
          b += (x[i] - e) * (x[i] - e);
          c += x[i] * x[i];
        }
      printf("   to CPU's fp8 %g, of that to exact %g\n", std::sqrt(a / c), std::sqrt(b / c));
    }
    EXPECT_EQ(one.run.losses, other.run.losses);
    EXPECT_TRUE(one.masters == other.masters);
  }
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
  for (const spec::Model& model : {tiny::llama(), tiny::gpt(), tiny::moe(), tiny::qk_norm(), tiny::parallel(1),
                                   tiny::latent(), tiny::sinks(), tiny::alibi(), tiny::ahead(tiny::llama(), 1)}) {
    expect_near(model, alone);
  }
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
              kBf16, false);
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
  using enum spec::Fp8Recipe;
  const auto one_each = [](spec::Job& j) { j.training.global_batch = 2; };
  expect_near(tiny::llama(),
              {{"tensorwise", {}, fp8(tensorwise)},
               {"delayed", {.tp = 2, .sp = true}, fp8(delayed)},
               {"rowwise", {}, fp8(rowwise)},
               {"blockwise", {.dp = 2, .zero = 3}, fp8(blockwise)}},
              kFp8);
  expect_near(tiny::moe(), {{"tensorwise", {.dp = 2}, both(experts(2), fp8(tensorwise), one_each)}}, kFp8, false);
}

}  // namespace
