// tests/real/executor/multi_token_test.cpp -- modules of multi-token prediction behind the last layer: whatever the
// model is cut into, losses of two steps, norms and every gradient are those of one rank to 1e-10. One rank is compared
// with the plain model in single_rank_test.cpp. SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/cases.h"

namespace {

using spec::CpKind;
using spec::Schedule;
using tiny::barrier;
using tiny::both;
using tiny::Case;
using tiny::context;
using tiny::expect_the_same;
using tiny::experts;
using tiny::overlap_tp;
using tiny::recompute;
using tiny::shard;
using tiny::two_sequences;
using Kind = spec::Recompute::Kind;

const tiny::Change beside = tiny::overlap(true, true);
void eager(spec::Job& j) {
  j.framework.separate_linears = true;
  j.strategy.fused_kernels.grad_accumulation = false;
}

TEST(ModulesAhead, OnOneStage) {
  using enum spec::TpOverlap;
  const std::vector<Case> cases{{"microbatches of 2", {}, two_sequences},
                                {"selective", {}, recompute(Kind::selective)},
                                {"full", {}, recompute(Kind::full)},
                                {"full but for the module", {}, recompute(Kind::full, 2)},
                                {"by operators", {.tp = 2, .sp = true}, recompute(Kind::selective_ops)},
                                {"gradients apart", {.tp = 2, .sp = true}, eager},
                                {"tp", {.tp = 2}},
                                {"sequence parallel", {.tp = 2, .sp = true}},
                                {"input kept", {.tp = 2, .sp = true}, overlap_tp(none, true)},
                                {"beside the weight gradient", {.tp = 2, .sp = true}, overlap_tp(wgrad)},
                                {"chunked", {.tp = 2, .sp = true}, overlap_tp(chunked)},
                                {"userbuffers", {.tp = 2, .sp = true}, overlap_tp(userbuffers)},
                                {"four key heads", {.tp = 4, .sp = true}},
                                {"ddp", {.dp = 2}},
                                {"zero 1 beside compute", {.dp = 2, .zero = 1}, beside},
                                {"zero 2", {.dp = 2, .zero = 2}},
                                {"zero 3", {.tp = 2, .sp = true, .dp = 2, .zero = 3}},
                                {"hsdp", {.dp = 4, .zero = 3}, shard(2)},
                                {"ring", {}, context(2, CpKind::ring, true)},
                                {"gathered", {}, context(2, CpKind::all_gather, false)},
                                {"ulysses", {}, context(2, CpKind::ulysses, true)}};
  for (const int modules : {1, 2}) {
    expect_the_same(tiny::ahead(tiny::llama(), modules), cases);
    expect_the_same(tiny::ahead(tiny::gpt(), modules), cases);
  }
}

TEST(ModulesAhead, OnTheLastStageOfAPipeline) {
  const std::vector<Case> cases{
      {"gpipe", {.pp = 2, .schedule = Schedule::gpipe}},
      {"1f1b", {.pp = 2}},
      {"1f1b of four", {.tp = 2, .pp = 4}},
      {"interleaved", {.pp = 2, .vpp = 2}},
      {"zb-h1", {.tp = 2, .sp = true, .pp = 2, .schedule = Schedule::zb_h1}, barrier},
      {"zb-h2", {.pp = 2, .schedule = Schedule::zb_h2}, barrier},
      {"zb-v", {.pp = 2, .schedule = Schedule::zb_v}, barrier},
      {"zb-v, computed again", {.pp = 2, .schedule = Schedule::zb_v}, both(barrier, recompute(Kind::full))},
      {"dualpipe", {.pp = 2, .schedule = Schedule::dualpipe}, barrier},
      {"dualpipe of four", {.pp = 4, .schedule = Schedule::dualpipe}, barrier},
      {"dualpipe, zero 1", {.pp = 2, .dp = 2, .zero = 1, .schedule = Schedule::dualpipe}, barrier},
      {"zero 1 beside compute", {.pp = 2, .dp = 2, .zero = 1}, beside},
      {"zero 2", {.pp = 2, .dp = 2, .zero = 2}},
      {"zero 3", {.tp = 2, .sp = true, .pp = 2, .dp = 2, .zero = 3}},
      {"zb-v beside compute", {.pp = 2, .dp = 2, .zero = 1, .schedule = Schedule::zb_v}, both(barrier, beside)},
      {"zb-v, zero 3", {.tp = 2, .sp = true, .pp = 2, .dp = 2, .zero = 3, .schedule = Schedule::zb_v}, barrier},
      {"dualpipe beside compute", {.pp = 2, .dp = 2, .zero = 1, .schedule = Schedule::dualpipe}, both(barrier, beside)},
      {"dualpipe, zero 2", {.pp = 2, .dp = 2, .zero = 2, .schedule = Schedule::dualpipe}, barrier},
      {"dualpipe, zero 3", {.pp = 2, .dp = 2, .zero = 3, .schedule = Schedule::dualpipe}, barrier},
      {"zb-h1, zero 3", {.pp = 2, .dp = 2, .zero = 3, .schedule = Schedule::zb_h1}, barrier}};
  for (const int modules : {1, 2}) {
    expect_the_same(tiny::ahead(tiny::llama(4), modules), cases);
    expect_the_same(tiny::ahead(tiny::gpt(4), modules), cases);
  }
}

TEST(ModulesAhead, OfExpertsAndLatentAttention) {
  const std::vector<Case> cases{{"tp", {.tp = 2, .sp = true}},
                                {"full", {.tp = 2, .sp = true}, recompute(Kind::full)},
                                {"zero 3", {.dp = 2, .zero = 3}},
                                {"pipeline", {.pp = 2}},
                                {"dualpipe", {.pp = 2, .schedule = Schedule::dualpipe}, barrier}};
  expect_the_same(tiny::ahead(tiny::moe(4), 1), cases);
  expect_the_same(tiny::ahead(tiny::moe(4), 2),
                  {{"experts", {.dp = 2}, experts(2)},
                   {"experts, sequence parallel", {.tp = 2, .sp = true, .dp = 2, .zero = 1}, experts(2)},
                   {"experts, pipeline", {.pp = 2, .dp = 2, .zero = 2}, experts(2)}});
  expect_the_same(tiny::ahead(tiny::latent(12, 4), 1), cases);
}

TEST(ModulesAhead, UnderDropoutAdaptersAndOffload) {
  const std::vector<Case> cases{{"tp", {.tp = 2, .sp = true}},
                                {"zero 3", {.dp = 2, .zero = 3}},
                                {"pipeline", {.pp = 2}},
                                {"zb-h1", {.pp = 2, .schedule = Schedule::zb_h1}, barrier}};
  const auto dropout = [](spec::Job& j) { j.training.dropout = 0.2; };
  const auto adapters = [](spec::Job& j) { j.strategy.lora = {.rank = 4, .qkv = true, .proj = true, .ffn = true}; };
  for (const spec::Model& model : {tiny::ahead(tiny::llama(), 1), tiny::ahead(tiny::gpt(), 2)}) {
    expect_the_same(model, cases, dropout);
    expect_the_same(model, cases, adapters);
  }
  const auto offload = [](const spec::Offload& offload, double tile = 0) {
    return [=](spec::Job& j) {
      j.strategy.offload = offload;
      j.strategy.offload_given = true;
      j.framework.optimizer_tile = base::Bytes(tile);
      j.cluster.node.nvme.read = j.cluster.node.nvme.write = base::GBps(5);
    };
  };
  using To = spec::Offload::To;
  expect_the_same(
      tiny::ahead(tiny::llama(), 2),
      {{"activations", {.pp = 2}, offload({.activations = true})},
       {"optimizer", {.pp = 2, .dp = 2, .zero = 1}, offload({.optimizer = To::cpu})},
       {"both", {.dp = 2, .zero = 3}, offload({.optimizer = To::cpu, .parameters = To::cpu}, 4000)},
       {"on drives", {.dp = 2, .zero = 3}, offload({.optimizer = To::nvme, .parameters = To::nvme}, 4000)}});
}

void fp8(spec::Job& j) {
  j.training.precision = spec::Dtype::fp8;
  j.training.fp8_recipe = spec::Fp8Recipe::tensorwise;
  j.framework.keeps_casts = true;
  j.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(2000);
}

/// One scale a tensor, so the same numbers in the same blocks.
TEST(ModulesAhead, InFp8) {
  expect_the_same(tiny::ahead(tiny::llama(), 2),
                  {{"ddp", {.dp = 2}},
                   {"zero 3", {.dp = 2, .zero = 3}},
                   {"full", {}, recompute(Kind::full)},
                   {"pipeline", {.pp = 2}},
                   {"zb-h1", {.pp = 2, .schedule = Schedule::zb_h1}, barrier}},
                  fp8);
}

/// Tensor-parallel ranks scale their parts by themselves; with sequence parallelism theirs are the numbers without, for
/// a shard that is gathered has the scale of the whole.
TEST(ModulesAhead, InFp8OverTensorParallelRanks) {
  const auto run = [](const toy::Cut& cut) {
    spec::Job draft = tiny::draft(tiny::ahead(tiny::llama(), 2), cut);
    fp8(draft);
    return tiny::run(toy::resolved(draft));
  };
  const tiny::Run alone = run({}), cut = run({.tp = 2});
  EXPECT_NEAR(cut.losses[0], alone.losses[0], 0.01 * alone.losses[0]);
  EXPECT_LT(tiny::difference(cut, run({.tp = 2, .sp = true})), 1e-10);
}

/// Without the sum of both ends' gradients the embedding of the first stage knows nothing of the modules.
TEST(ModulesAhead, AnAbsentSumOfTheEmbeddingsGradientIsNoticed) {
  const spec::Model model = tiny::ahead(tiny::llama(), 1);
  const tiny::Run alone = tiny::run(toy::resolved(tiny::draft(model, {})));
  const spec::Job job = toy::resolved(tiny::draft(model, {.pp = 2}));
  plan::Plan plan = plan::build(job);
  const auto name = std::find(plan.names.begin(), plan.names.end(), "copied embedding all-reduce");
  ASSERT_NE(name, plan.names.end());
  *name = "events awaited";
  EXPECT_GT(tiny::difference(alone, tiny::run(job, plan, 2)), 1e-3);
}

}  // namespace
