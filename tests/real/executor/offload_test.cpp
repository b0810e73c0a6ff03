// tests/real/executor/offload_test.cpp -- activations, the optimizer's states and parameters that live in the host's
// memory or on its drives: losses, norms and gradients are those of one rank that keeps all on its device.
// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "tests/real/executor/tiny.h"

namespace {

using Change = std::function<void(spec::Job&)>;
using Kind = spec::Recompute::Kind;
using spec::Schedule;

struct Case {
  const char* name;
  toy::Cut cut;
  Change change = [](spec::Job&) {};
};

/// A node with a host to offload to.
spec::Job draft(const spec::Model& model, const toy::Cut& cut) {
  spec::Job j = tiny::draft(model, cut);
  j.cluster.node.pcie.bandwidth = base::GBps(10);
  j.cluster.node.host.memory = base::GB(100);
  j.cluster.node.host.bandwidth = base::GBps(100);
  j.cluster.node.nvme.read = j.cluster.node.nvme.write = base::GBps(5);
  return j;
}

void expect_the_same(const spec::Model& model, const spec::Offload& offload, const std::vector<Case>& cases) {
  const tiny::Run alone = tiny::run(toy::resolved(tiny::draft(model, {})));
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + c.name);
    spec::Job j = draft(model, c.cut);
    j.strategy.offload = offload;
    j.strategy.offload_given = true;
    c.change(j);
    EXPECT_LT(tiny::difference(alone, tiny::run(toy::resolved(j))), 1e-10);
  }
}

Change recompute(Kind kind) {
  return [kind](spec::Job& j) { j.strategy.recompute.kind = kind; };
}

/// Zero-bubble schedules do without the norm of all gradients unless told.
void barrier(spec::Job& j) { j.strategy.optimizer_barrier = true; }

Change barrier_and(Kind kind) {
  return [kind](spec::Job& j) { barrier(j), recompute(kind)(j); };
}

void masters_are_shards(spec::Job& j) { j.framework.fp32_shards = true; }
void tiles_of_4000(spec::Job& j) { j.framework.optimizer_tile = base::Bytes(4000); }

constexpr spec::Offload kActivations{.activations = true};
constexpr spec::Offload kOptimizer{.optimizer = spec::Offload::To::cpu};
constexpr spec::Offload kParameters{.parameters = spec::Offload::To::cpu};
constexpr spec::Offload kBoth{.optimizer = spec::Offload::To::cpu, .parameters = spec::Offload::To::cpu};

TEST(Offload, ActivationsComeBackForTheirBackward) {
  const auto experts = [](spec::Job& j) { j.strategy.ep = 2; };
  const std::vector<Case> cases{{"one rank", {}},
                                {"full", {}, recompute(Kind::full)},
                                {"selective", {}, recompute(Kind::selective)},
                                {"by operators", {.tp = 2, .sp = true}, recompute(Kind::selective_ops)},
                                {"zero 3", {.tp = 2, .dp = 2, .zero = 3}},
                                {"1f1b", {.pp = 2}},
                                {"interleaved", {.pp = 2, .vpp = 2}},
                                {"zb-h1", {.pp = 2, .schedule = Schedule::zb_h1}, barrier},
                                {"zb-h2, full", {.pp = 2, .schedule = Schedule::zb_h2}, barrier_and(Kind::full)},
                                {"zb-v, zero 3", {.pp = 2, .dp = 2, .zero = 3, .schedule = Schedule::zb_v}, barrier}};
  for (const spec::Model& model : {tiny::llama(4), tiny::gpt(4), tiny::parallel(1, 4)}) {
    expect_the_same(model, kActivations, cases);
  }
  expect_the_same(tiny::latent(12, 4), kActivations, {{"one rank", {}}, {"full", {}, recompute(Kind::full)}});
  expect_the_same(tiny::moe(4), kActivations, {{"one rank", {}}, {"experts", {.dp = 2}, experts}});
}

TEST(Offload, AnAbsentActivationIsNoticed) {
  // The copy back of the first layer's activations is left out.
  spec::Job j = draft(tiny::llama(), {});
  j.strategy.offload = kActivations;
  j.strategy.offload_given = true;
  const spec::Job job = toy::resolved(j);
  plan::Plan plan = plan::build(job);
  const auto name = std::find(plan.names.begin(), plan.names.end(), "activations to device");
  ASSERT_NE(name, plan.names.end());
  *name = "offload turn";
  EXPECT_THROW(tiny::run(job, plan), std::logic_error);
}

TEST(Offload, TheHostUpdates) {
  const auto tiles = [](spec::Job& j) { j.framework.optimizer_tile = base::Bytes(4000); };
  const auto overlap = [](spec::Job& j) { j.strategy.overlap.grad_reduce = true; };
  const auto once = [](spec::Job& j) { j.strategy.fsdp.sync_each_microbatch = false; };
  const auto hsdp = [](spec::Job& j) { j.strategy.shard = 2; };
  const auto buckets = [](spec::Job& j) {
    j.strategy.overlap.grad_reduce = true;
    j.framework.gradient_bucket = j.framework.parameter_bucket = base::Bytes(404);
  };
  const std::vector<Case> cases{{"zero 1 alone", {.zero = 1}},
                                {"zero 1", {.dp = 2, .zero = 1}},
                                {"zero 1 by tiles", {.dp = 2, .zero = 1}, tiles},
                                {"zero 1 beside compute", {.dp = 4, .zero = 1}, overlap},
                                {"zero 1 in small buckets", {.dp = 4, .zero = 1}, buckets},
                                {"zero 1 in groups", {.dp = 4, .zero = 1}, hsdp},
                                {"zero 1 and sequence parallel", {.tp = 2, .sp = true, .dp = 2, .zero = 1}},
                                {"zero 1 and copied key heads", {.tp = 4, .dp = 2, .zero = 1}},
                                {"zero 1 and a pipeline", {.pp = 2, .dp = 2, .zero = 1}},
                                {"zero 2 alone", {.zero = 2}},
                                {"zero 2 alone by tiles", {.zero = 2}, tiles},
                                {"zero 2", {.dp = 2, .zero = 2}},
                                {"zero 2 by tiles", {.dp = 2, .zero = 2}, tiles},
                                {"zero 3", {.dp = 2, .zero = 3}},
                                {"zero 3 by tiles", {.dp = 2, .zero = 3}, tiles},
                                {"zero 3 reduced once", {.dp = 2, .zero = 3}, once},
                                {"hsdp", {.dp = 4, .zero = 3}, hsdp}};
  for (const spec::Model& model : {tiny::llama(), tiny::latent()}) expect_the_same(model, kOptimizer, cases);
  expect_the_same(tiny::gpt(), kOptimizer,
                  {{"tied tables", {.pp = 2, .dp = 2, .zero = 1}}, {"zero 2", {.dp = 2, .zero = 2}}});
}

TEST(Offload, TheHostUpdatesBehindWeightGradientsThatRunApart) {
  const auto tiles = [](spec::Job& j) {
    barrier(j);
    j.strategy.overlap.grad_reduce = true;
    j.framework.optimizer_tile = base::Bytes(4000);
  };
  const auto once = [](spec::Job& j) {
    barrier(j);
    j.strategy.fsdp.sync_each_microbatch = false;
  };
  using enum Schedule;
  expect_the_same(tiny::llama(4), kOptimizer,
                  {{"zb-h1, zero 1", {.pp = 2, .dp = 2, .zero = 1, .schedule = zb_h1}, barrier},
                   {"zb-h1, zero 2", {.pp = 2, .dp = 2, .zero = 2, .schedule = zb_h1}, tiles},
                   {"zb-h2, zero 2 alone", {.pp = 2, .zero = 2, .schedule = zb_h2}, barrier},
                   {"zb-v, zero 1", {.pp = 2, .dp = 2, .zero = 1, .schedule = zb_v}, tiles},
                   {"zb-v, zero 3", {.pp = 2, .dp = 2, .zero = 3, .schedule = zb_v}, barrier},
                   {"zb-v, zero 3 by tiles", {.pp = 2, .dp = 2, .zero = 3, .schedule = zb_v}, tiles},
                   {"zb-v, zero 3 reduced once", {.pp = 2, .dp = 2, .zero = 3, .schedule = zb_v}, once}});
  expect_the_same(tiny::gpt(4), kOptimizer,
                  {{"tied tables of a V", {.pp = 2, .dp = 2, .zero = 1, .schedule = zb_v}, barrier}});
}

/// Their gradients go to the host behind those of the rest: each has copies of its own to be summed with, or none.
TEST(Offload, TheHostUpdatesExperts) {
  const auto experts = [](int ep, int etp, const Change& change) {
    return [=](spec::Job& j) {
      j.strategy.ep = ep;
      j.strategy.etp = etp;
      j.strategy.etp_given = true;
      change(j);
    };
  };
  const Change plain = [](spec::Job&) {}, tiles = tiles_of_4000;
  const Change barrier_and_tiles = [=](spec::Job& j) { barrier(j), tiles(j); };
  const Change buckets = [](spec::Job& j) {
    j.strategy.overlap.grad_reduce = true;
    j.framework.gradient_bucket = j.framework.parameter_bucket = base::Bytes(404);
  };
  const Change groups = [](spec::Job& j) { j.strategy.shard = 2; };
  const Change masters_of_narrow_gradients = [](spec::Job& j) {  // which travel as wide as the masters all the same
    masters_are_shards(j);
    j.training.gradient_dtype = spec::Dtype::bf16;
  };
  using enum Schedule;
  expect_the_same(tiny::moe(4), kOptimizer,
                  {{"no copies", {.zero = 1}},
                   {"no copies by tiles", {.zero = 1}, tiles},
                   {"no copies in small buckets", {.zero = 1}, buckets},
                   {"no copies, zero 2", {.zero = 2}, tiles},
                   {"copies of the rest alone", {.dp = 2, .zero = 1}, experts(2, 1, plain)},
                   {"in small buckets", {.dp = 2, .zero = 1}, experts(2, 1, buckets)},
                   {"copies of experts alone", {.tp = 2, .sp = true, .zero = 1}, experts(1, 1, plain)},
                   {"copies of both", {.dp = 4, .zero = 1}, experts(2, 1, plain)},
                   {"in groups", {.dp = 4, .zero = 1}, experts(1, 1, groups)},
                   {"zero 2", {.dp = 4, .zero = 2}, experts(2, 1, plain)},
                   {"zero 2, etp", {.dp = 2, .zero = 2}, experts(1, 2, tiles)},
                   {"zero 3", {.dp = 4, .zero = 3}, experts(2, 1, plain)},
                   {"zero 3, whole experts", {.dp = 2, .zero = 3}, experts(2, 1, tiles)},
                   {"hsdp", {.dp = 4, .zero = 3}, experts(1, 1, groups)},
                   {"1f1b", {.tp = 2, .sp = true, .pp = 2, .zero = 1}, experts(2, 1, plain)},
                   {"zb-h1", {.pp = 2, .dp = 2, .zero = 2, .schedule = zb_h1}, experts(2, 1, barrier_and_tiles)},
                   {"zb-v, zero 3", {.pp = 2, .dp = 2, .zero = 3, .schedule = zb_v}, experts(2, 1, barrier)}});
  expect_the_same(tiny::moe(), kBoth,
                  {{"parameters, too", {.dp = 4, .zero = 3}, experts(2, 1, plain)},
                   {"of whole experts", {.dp = 2, .zero = 3}, experts(2, 1, tiles)},
                   {"masters", {.dp = 4, .zero = 3}, experts(2, 1, masters_are_shards)},
                   {"masters of whole experts", {.dp = 2, .zero = 3}, experts(2, 1, masters_of_narrow_gradients)}});
}

/// Where no stage waits for the others, nothing but events keeps the next step from reading weights that are not back.
TEST(Offload, TheNextStepOfAStageWaitsForTheHost) {
  const auto run = [](Schedule schedule, int zero, int dp, const spec::Offload& offload, bool tiles) {
    spec::Job j = draft(tiny::llama(4), {.pp = 2, .dp = dp, .zero = zero, .schedule = schedule});
    j.strategy.offload = offload;
    j.strategy.offload_given = true;
    j.strategy.optimizer_barrier = false;
    if (tiles) j.framework.optimizer_tile = base::Bytes(4000);
    return tiny::run(toy::resolved(j)).losses.size();
  };
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::zb_h1, Schedule::zb_v}) {
    for (const int zero : {1, 2, 3}) {
      for (const int dp : {1, 2}) {
        for (const bool tiles : {false, true}) {
          SCOPED_TRACE(testing::Message() << "zero " << zero << " dp " << dp << " tiles " << tiles);
          EXPECT_EQ(run(schedule, zero, dp, kOptimizer, tiles), 2u);
          if (zero < 3) continue;
          EXPECT_EQ(run(schedule, zero, dp, kParameters, tiles), 2u);
          EXPECT_EQ(run(schedule, zero, dp, kBoth, tiles), 2u);
        }
      }
    }
  }
}

TEST(Offload, ParametersComeFromTheHostBeforeTheirUse) {
  const auto hsdp = [](spec::Job& j) { j.strategy.shard = 2; };
  const auto units = [](spec::Job& j) { j.strategy.fsdp.unit = 2; };
  const auto kept = [](spec::Job& j) { j.strategy.fsdp.reshard = false; };
  const auto copies = [](spec::Job& j) { j.framework.unit_copies = true; };
  const std::vector<Case> cases{{"alone", {.zero = 3}},
                                {"sharded", {.dp = 2, .zero = 3}},
                                {"hsdp", {.dp = 4, .zero = 3}, hsdp},
                                {"units of two layers", {.dp = 2, .zero = 3}, units},
                                {"kept", {.dp = 2, .zero = 3}, kept},
                                {"copied out", {.dp = 2, .zero = 3}, copies},
                                {"full", {.dp = 2, .zero = 3}, recompute(Kind::full)},
                                {"1f1b", {.pp = 2, .dp = 2, .zero = 3}},
                                {"zb-h1", {.pp = 2, .zero = 3, .schedule = Schedule::zb_h1}, barrier},
                                {"zb-v", {.pp = 2, .dp = 2, .zero = 3, .schedule = Schedule::zb_v}, barrier}};
  for (const spec::Model& model : {tiny::llama(4), tiny::gpt(4)}) {
    expect_the_same(model, kParameters, cases);
    if (!model.tied_embeddings) expect_the_same(model, kBoth, cases);
  }
  expect_the_same(tiny::llama(), kBoth,
                  {{"masters", {.dp = 2, .zero = 3}, masters_are_shards},
                   {"masters alone", {.zero = 3}, masters_are_shards},
                   {"by tiles", {.dp = 2, .zero = 3}, tiles_of_4000}});
  const auto experts = [](spec::Job& j) { j.strategy.ep = 2; };
  expect_the_same(
      tiny::moe(), kParameters,
      {{"experts alone", {.dp = 2, .zero = 3}, experts}, {"experts sharded", {.dp = 4, .zero = 3}, experts}});
}

TEST(Offload, AParameterThatDoesNotComeIsNoticed) {
  spec::Job j = draft(tiny::llama(), {.zero = 3});
  j.strategy.offload = kParameters;
  j.strategy.offload_given = true;
  const spec::Job job = toy::resolved(j);
  plan::Plan plan = plan::build(job);
  std::ranges::replace(plan.names, std::string("parameters to device"), std::string("offload turn"));
  EXPECT_THROW(tiny::run(job, plan), std::logic_error);
}

/// ZeRO-Infinity: what is not worked on lies in files.
TEST(Offload, StatesAndParametersOnDrives) {
  using To = spec::Offload::To;
  const auto experts = [](spec::Job& j) { tiles_of_4000(j), j.strategy.ep = 2; };
  const std::vector<Case> cases{{"alone", {.zero = 3}, tiles_of_4000},
                                {"sharded", {.dp = 2, .zero = 3}, tiles_of_4000}};
  for (const To optimizer : {To::none, To::cpu, To::nvme}) {
    for (const To parameters : {To::none, To::cpu, To::nvme}) {
      if (optimizer != To::nvme && parameters != To::nvme) continue;
      const spec::Offload drives{.optimizer = optimizer, .parameters = parameters};
      expect_the_same(tiny::llama(), drives, cases);
      expect_the_same(tiny::moe(), drives, {{"experts", {.dp = 4, .zero = 3}, experts}});
    }
  }
}

}  // namespace
