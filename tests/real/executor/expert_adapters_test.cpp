// tests/real/executor/expert_adapters_test.cpp -- low-rank adapters beside experts, which have a pair each: gradients
// are those of the plain model, and wherever an expert is, and whatever it is cut into, the same.
// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "tests/real/executor/reference_model.h"
#include "tests/real/executor/tiny.h"

namespace {

using spec::MoeDispatcher;
using spec::Schedule;
using Kind = spec::Recompute::Kind;
using Change = std::function<void(spec::Job&)>;

struct Case {
  const char* name;
  toy::Cut cut;
  int ep = 1, etp = 1;
  Change change = [](spec::Job&) {};
};

/// Of the feed-forward alone, and of all.
constexpr spec::Lora kExperts{.rank = 4, .ffn = true}, kAll{.rank = 8, .qkv = true, .proj = true, .ffn = true};

/// Not gated, with biases, and no expert that all tokens visit.
spec::Model plain(int layers = 2) {
  spec::Model m = tiny::gpt(layers);
  m.name = "tiny gpt of experts";
  m.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 12};
  return m;
}

/// 16 experts, of which a token visits one: many have no rows, of few tokens a rank has none.
spec::Model sparse() {
  spec::Model m = tiny::moe();
  m.name = "tiny moe of lone experts";
  m.moe->experts = 16;
  m.moe->top_k = 1;
  return m;
}

spec::Job job_of(const spec::Model& model, const spec::Lora& lora, const Case& c, std::int64_t global_batch = 8) {
  spec::Job job = tiny::draft(model, c.cut, global_batch);
  job.strategy.lora = lora;
  job.strategy.ep = c.ep;
  job.strategy.etp = c.etp;
  job.strategy.etp_given = true;
  c.change(job);
  return toy::resolved(job);
}

// Against the plain model.

/// All parameters after so many steps on one rank.
reference_model::Parameters trained(const spec::Job& job, int steps) {
  reference_model::Parameters out;
  const auto visit = [&](const real::Executor& e) {
    for (const real::Parameter& p : e.state().parameters.all()) {
      out[{p.layer, p.name}] = e.state().backend.download(p.weight.tensor);
    }
  };
  real::train_on_cpu(job, plan::build(job), tiny::tokens(job), tiny::settings(), steps, {}, visit);
  return out;
}

/// B is zero at first and with it the gradient of A, so that the second step is looked at. Errors as in
/// single_rank_test.cpp. One element of each expert's part, at least.
void expect_plain(const spec::Job& job, const reference_model::Capacity& capacity) {
  const tiny::Run run = tiny::run(job, 2);
  reference_model::Parameters parameters = trained(job, 1);
  std::vector<std::vector<std::int32_t>> sequences;
  const std::int64_t batch = job.training.global_batch;
  for (std::int64_t i = batch; i < 2 * batch; ++i) {
    sequences.push_back(tiny::tokens(job).sequence(i, job.training.sequence));
  }
  const auto loss = [&] { return reference_model::loss(job.model, parameters, sequences, {}, capacity); };
  EXPECT_NEAR(run.losses[1], loss(), 1e-12);
  for (const auto& [key, gradient] : run.gradients) {
    std::vector<double>& values = parameters.at(key);
    ASSERT_EQ(gradient.size(), values.size());
    for (const std::size_t eighth : {1, 3, 5, 7}) {
      const std::size_t i = values.size() * eighth / 8;
      const double w = values[i], h = 1e-5;
      values[i] = w + h;
      const double above = loss();
      values[i] = w - h;
      const double below = loss();
      values[i] = w;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 2e-9) << key.first << ' ' << key.second << ' ' << i;
    }
  }
}

TEST(ExpertAdapters, GradientsAreCentralDifferencesOfThePlainModel) {
  for (const spec::Model& model : {tiny::moe(), plain()}) {
    SCOPED_TRACE(model.name);
    expect_plain(job_of(model, kExperts, {"", {}}, 4), {});
  }
}

/// 8 tokens choose 2 of 4 experts each: an even share is 4 rows, so that 0.5 drops most and 1.75 pads.
TEST(ExpertAdapters, WithACapacityTheySeeTheRowsThatExpertsTake) {
  for (const double factor : {0.5, 1.75}) {
    const auto capacity = [&](spec::Job& j) { j.strategy.moe_capacity_factor = factor; };
    expect_plain(job_of(tiny::moe(), kExperts, {"", {}, 1, 1, capacity}, 4), {factor, 8});
  }
}

TEST(ExpertAdapters, AreTrainedWhileExpertsAndTheirRouterAreFrozen) {
  const spec::Job job = job_of(tiny::moe(), kExperts, {"", {}});
  const reference_model::Parameters before = trained(job, 0), after = trained(job, 2);
  int adapters = 0;
  for (const auto& [key, values] : before) {
    const bool adapter = key.second.find(" adapter ") != std::string::npos;
    adapters += adapter;
    EXPECT_EQ(after.at(key) != values, adapter) << key.first << ' ' << key.second;
  }
  // A and B beside two matrices of a layer without experts, of its experts, of its shared expert.
  EXPECT_EQ(adapters, 2 * (2 + 2 + 2));
}

// Against one rank.

void expect_the_same(
    const spec::Model& model, const spec::Lora& lora, const std::vector<Case>& cases,
    const Change& all = [](spec::Job&) {}) {
  const auto job = [&](const Case& c) {
    return job_of(model, lora, {c.name, c.cut, c.ep, c.etp, [&](spec::Job& j) { all(j), c.change(j); }});
  };
  const tiny::Run alone = tiny::run(job({"alone", {}}));
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + c.name);
    EXPECT_LT(tiny::difference(alone, tiny::run(job(c))), 1e-10);
  }
}

Change recompute(Kind kind) {
  return [kind](spec::Job& j) { j.strategy.recompute.kind = kind; };
}
void barrier(spec::Job& j) { j.strategy.optimizer_barrier = true; }
void eager(spec::Job& j) { j.strategy.fused_kernels.grad_accumulation = false; }
/// Recomputation that ends in front of a layer's last matmul.
void torch(spec::Job& j) {
  recompute(Kind::full)(j);
  j.framework.stops_recompute = j.framework.keeps_gathered = j.framework.copies_sequence = true;
}
void shared_beside(spec::Job& j) { j.strategy.overlap.shared_expert = true; }
void ring(spec::Job& j) {
  j.cluster = toy::cluster(2);
  j.strategy.cp = 2;
}

const std::vector<Case> kCut{
    {"eager", {}, 1, 1, eager},
    {"full", {.dp = 2}, 2, 1, recompute(Kind::full)},
    {"full, in front of the last matmul", {.dp = 2}, 1, 2, torch},
    {"selective", {.dp = 2}, 2, 1, recompute(Kind::selective)},
    {"ep 4", {.dp = 4}, 4, 1},
    {"an expert a rank, others in fp32", {.dp = 4}, 4, 1, [](spec::Job& j) { j.framework.wide_adapters = true; }},
    {"ep 2 of 4", {.dp = 4}, 2, 1},
    {"etp", {.dp = 2}, 1, 2},
    {"etp 4", {.dp = 4}, 1, 4},
    {"etp, computed again", {.dp = 2}, 1, 2, recompute(Kind::full)},
    {"etp, eager", {.dp = 2}, 1, 2, eager},
    {"ep and etp over tp", {.tp = 2, .sp = true, .dp = 2}, 2, 2},
    {"ep over cp", {}, 2, 1, ring},
    {"zero 1", {.tp = 2, .sp = true, .dp = 2, .zero = 1}, 2, 1},
    {"zero 2", {.dp = 4, .zero = 2}, 2, 2},
    {"zero 3", {.dp = 4, .zero = 3}, 2, 1},
    {"zero 3, etp", {.dp = 4, .zero = 3}, 1, 2},
    {"hsdp", {.dp = 4, .zero = 3}, 1, 1, [](spec::Job& j) { j.strategy.shard = 2; }},
    {"1f1b", {.tp = 2, .sp = true, .pp = 2}, 2, 1},
    {"zb-h1", {.pp = 2, .dp = 2, .schedule = Schedule::zb_h1}, 1, 2, barrier},
    {"zb-v", {.pp = 2, .dp = 2, .schedule = Schedule::zb_v}, 2, 1, barrier},
    {"dualpipe", {.pp = 2, .dp = 2, .schedule = Schedule::dualpipe}, 1, 2},
    {"pairs of passes", {.pp = 2, .dp = 2}, 2, 1, [](spec::Job& j) { j.strategy.overlap.expert = true; }},
    {"shared experts beside", {.tp = 2, .sp = true}, 2, 1, shared_beside}};

/// What allgather has no way for.
bool fits(const Case& c, MoeDispatcher way) {
  return way != MoeDispatcher::allgather || std::string(c.name) != "pairs of passes";
}

TEST(ExpertAdapters, AreTheSameUnderEveryStrategy) {
  for (const MoeDispatcher way : {MoeDispatcher::alltoall, MoeDispatcher::allgather, MoeDispatcher::deepep}) {
    std::vector<Case> cases = kCut;
    std::erase_if(cases, [&](const Case& c) { return !fits(c, way); });
    const auto dispatcher = [&](spec::Job& j) { j.strategy.moe_dispatcher = way; };
    SCOPED_TRACE(spec::name(way));
    expect_the_same(tiny::moe(4), kAll, cases, dispatcher);
    expect_the_same(plain(4), kExperts, cases, dispatcher);
  }
}

TEST(ExpertAdapters, OfExpertsThatNoTokenVisitsAddNothing) {
  const auto context = [](spec::Job& j) {  // two tokens each
    j.cluster = toy::cluster(4);
    j.strategy.cp = 4;
  };
  expect_plain(job_of(sparse(), kExperts, {"", {}}, 4), {});
  expect_the_same(sparse(), kExperts,
                  {{"ep 4 over cp", {}, 4, 1, context},
                   {"ep and etp over cp", {}, 2, 2, context},
                   {"zb-h1", {.pp = 2, .dp = 2, .schedule = Schedule::zb_h1}, 2, 1, barrier}});
}

TEST(ExpertAdapters, StandInModulesOfMultiTokenPrediction) {
  expect_the_same(tiny::ahead(tiny::moe(4), 1), kAll,
                  {{"ep", {.dp = 2}, 2, 1}, {"etp and a pipeline", {.pp = 2, .dp = 2}, 1, 2}});
}

/// They alone have gradients and states.
TEST(ExpertAdapters, AreUpdatedOnTheHost) {
  const auto host = [](bool tiles) {
    return [=](spec::Job& j) {
      j.cluster.node.pcie.bandwidth = base::GBps(10);
      j.strategy.offload = {.optimizer = spec::Offload::To::cpu};
      j.strategy.offload_given = true;
      if (tiles) j.framework.optimizer_tile = base::Bytes(4000);
    };
  };
  expect_the_same(tiny::moe(4), kAll,
                  {{"no copies", {.zero = 1}, 1, 1, host(true)},
                   {"zero 1", {.tp = 2, .sp = true, .dp = 2, .zero = 1}, 2, 1, host(false)},
                   {"zero 2", {.dp = 4, .zero = 2}, 2, 1, host(true)},
                   {"zero 3", {.dp = 4, .zero = 3}, 1, 2, host(false)}});
}

/// Where every rank has whole sequences, the choices that a capacity drops are those of one rank.
TEST(ExpertAdapters, AreTheSameWithACapacity) {
  const std::vector<Case> cases{{"ep 4", {.dp = 4}, 4, 1},
                                {"ep and etp", {.dp = 4, .zero = 1}, 2, 2},
                                {"zero 3", {.dp = 4, .zero = 3}, 1, 2},
                                {"zb-v", {.pp = 2, .dp = 2, .schedule = Schedule::zb_v}, 2, 1, barrier}};
  for (const double factor : {0.5, 1.75}) {
    for (const MoeDispatcher way : {MoeDispatcher::alltoall, MoeDispatcher::allgather, MoeDispatcher::deepep}) {
      SCOPED_TRACE(std::string(spec::name(way)) + ' ' + std::to_string(factor));
      expect_the_same(tiny::moe(4), kAll, cases, [&](spec::Job& j) {
        j.strategy.moe_capacity_factor = factor;
        j.strategy.moe_dispatcher = way;
      });
    }
  }
}

}  // namespace
