// tests/real/executor/adapters_test.cpp -- low-rank adapters: their gradients are those of the plain model, they alone
// are trained, and whatever the model is cut into computes the same. SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "tests/real/executor/reference_model.h"
#include "tests/real/executor/tiny.h"

namespace {

using spec::Schedule;
using Change = std::function<void(spec::Job&)>;

struct Case {
  const char* name;
  toy::Cut cut;
  Change change = [](spec::Job&) {};
};

constexpr spec::Lora kAll{.rank = 4, .qkv = true, .proj = true, .ffn = true};
constexpr spec::Lora kQkv{.rank = 8, .qkv = true};

spec::Job job(const spec::Model& model, const spec::Lora& lora, const Case& c, std::int64_t global_batch = 8) {
  spec::Job j = tiny::draft(model, c.cut, global_batch);
  j.strategy.lora = lora;
  c.change(j);
  return toy::resolved(j);
}

void expect_the_same(
    const spec::Model& model, const spec::Lora& lora, const std::vector<Case>& cases,
    const Change& alone_too = [](spec::Job&) {}) {
  const tiny::Run alone = tiny::run(job(model, lora, {"", {}, alone_too}));
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + c.name);
    EXPECT_LT(tiny::difference(alone, tiny::run(job(model, lora, c))), 1e-10);
  }
}

/// All parameters after so many steps on one rank.
reference_model::Parameters trained(const spec::Job& j, int steps) {
  reference_model::Parameters out;
  real::train_on_cpu(j, plan::build(j), tiny::tokens(j), tiny::settings(), steps, {}, [&](const real::Executor& e) {
    for (const real::Parameter& p : e.state().parameters.all()) {
      out[{p.layer, p.name}] = e.state().backend.download(p.weight.tensor);
    }
  });
  return out;
}

void expect_central_differences(const spec::Job& j) {
  // B is zero at first and with it the gradient of A, so that the second step is looked at. Errors as in
  // single_rank_test.cpp.
  const tiny::Run run = tiny::run(j, 2);
  reference_model::Parameters parameters = trained(j, 1);
  std::vector<std::vector<std::int32_t>> sequences;
  for (std::int64_t i = 4; i < 8; ++i) sequences.push_back(tiny::tokens(j).sequence(i, j.training.sequence));
  EXPECT_NEAR(run.losses[1], reference_model::loss(j.model, parameters, sequences), 1e-12);
  for (const auto& [key, gradient] : run.gradients) {
    std::vector<double>& values = parameters.at(key);
    ASSERT_EQ(gradient.size(), values.size());
    for (const std::size_t i : {values.size() / 7, values.size() / 2, values.size() - 1}) {
      const double w = values[i], h = 1e-5;
      values[i] = w + h;
      const double above = reference_model::loss(j.model, parameters, sequences);
      values[i] = w - h;
      const double below = reference_model::loss(j.model, parameters, sequences);
      values[i] = w;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 2e-9) << key.first << ' ' << key.second << ' ' << i;
    }
  }
}

TEST(Adapters, GradientsAreCentralDifferencesOfThePlainModel) {
  expect_central_differences(job(tiny::llama(), kAll, {"", {}}, 4));
}

/// Queries, keys, values, gate and up are modules of their own.
void apart(spec::Job& j) { j.framework.separate_linears = true; }

TEST(Adapters, StandBesideEachModuleOfAFrameworkThatHasMore) {
  const spec::Job j = job(tiny::llama(), kAll, {"", {}, apart}, 4);
  expect_central_differences(j);
  // A and B beside seven matrices of two layers.
  EXPECT_EQ(tiny::run(j).gradients.size(), 2 * 7 * 2);
}

TEST(Adapters, AreAllThatIsTrained) {
  const spec::Job j = job(tiny::gpt(), kAll, {"", {}});
  const reference_model::Parameters before = trained(j, 0), after = trained(j, 2);
  int adapters = 0;
  for (const auto& [key, values] : before) {
    const bool adapter = key.second.find(" adapter ") != std::string::npos;
    adapters += adapter;
    EXPECT_EQ(after.at(key) != values, adapter) << key.first << ' ' << key.second;
  }
  EXPECT_EQ(adapters, 2 * 4 * 2);  // A and B beside four matrices of two layers
  EXPECT_EQ(tiny::run(j).gradients.size(), 2 * 4 * 2);
}

TEST(Adapters, AreTheSameUnderEveryStrategy) {
  using Kind = spec::Recompute::Kind;
  const auto recompute = [](Kind kind) { return [kind](spec::Job& j) { j.strategy.recompute.kind = kind; }; };
  const auto overlapped = [](spec::TpOverlap tp, bool keeps) {
    return [=](spec::Job& j) {
      j.strategy.overlap.tp = tp;
      j.framework.keeps_gathered = keeps;
    };
  };
  const auto eager = [](spec::Job& j) { j.strategy.fused_kernels.grad_accumulation = false; };
  const auto cast = [](spec::Job& j) {
    j.framework.wide_adapters = true;
    j.model.window = 1 << 20;  // no window, of 2024
  };
  const auto barrier = [](spec::Job& j) { j.strategy.optimizer_barrier = true; };
  const auto ring = [](spec::Job& j) {
    j.cluster = toy::cluster(2);
    j.strategy.cp = 2;
  };
  const auto hsdp = [](spec::Job& j) { j.strategy.shard = 2; };
  using enum spec::TpOverlap;
  const std::vector<Case> cases{{"eager", {}, eager},
                                {"in fp32 under autocast", {.dp = 2, .zero = 1}, cast},
                                {"full", {.tp = 2, .sp = true}, recompute(Kind::full)},
                                {"selective", {}, recompute(Kind::selective)},
                                {"tp", {.tp = 2}},
                                {"more ranks than key heads", {.tp = 4}},
                                {"sequence parallel", {.tp = 2, .sp = true}},
                                {"inputs kept", {.tp = 2, .sp = true}, overlapped(none, true)},
                                {"beside the weight gradient", {.tp = 2, .sp = true}, overlapped(wgrad, false)},
                                {"chunked", {.tp = 2, .sp = true}, overlapped(chunked, false)},
                                {"userbuffers", {.tp = 2, .sp = true}, overlapped(userbuffers, false)},
                                {"userbuffers, inputs kept", {.tp = 2, .sp = true}, overlapped(userbuffers, true)},
                                {"ddp", {.dp = 2}},
                                {"zero 1", {.tp = 2, .sp = true, .dp = 2, .zero = 1}},
                                {"zero 2", {.dp = 4, .zero = 2}},
                                {"zero 3", {.dp = 4, .zero = 3}},
                                {"hsdp", {.dp = 4, .zero = 3}, hsdp},
                                {"tp and zero 3", {.tp = 2, .sp = true, .dp = 2, .zero = 3}},
                                {"1f1b", {.tp = 2, .pp = 2}},
                                {"zb-h1", {.tp = 2, .sp = true, .pp = 2, .schedule = Schedule::zb_h1}, barrier},
                                {"dualpipe", {.pp = 2, .schedule = Schedule::dualpipe}},
                                {"ring", {}, ring}};
  for (const spec::Model& model : {tiny::llama(), tiny::gpt()}) expect_the_same(model, kAll, cases);
  expect_the_same(tiny::qk_norm(), kQkv, cases);
  std::vector<Case> modules = cases;
  for (Case& c : modules) {
    c.change = [change = c.change](spec::Job& j) {
      change(j);
      apart(j);
    };
  }
  expect_the_same(tiny::llama(), kAll, modules, apart);
  expect_the_same(tiny::latent(), kAll,
                  {{"tp", {.tp = 2}},
                   {"sequence parallel", {.tp = 2, .sp = true}},
                   {"zb-h1", {.tp = 2, .sp = true, .pp = 2, .schedule = Schedule::zb_h1}, barrier},
                   {"zero 3", {.tp = 2, .sp = true, .dp = 2, .zero = 3}}});
}

TEST(Adapters, StandBesideTheAttentionOfExperts) {
  const spec::Lora attention{.rank = 4, .qkv = true, .proj = true};
  const auto experts = [](spec::Job& j) { j.strategy.ep = 2; };
  expect_the_same(tiny::moe(), attention, {{"ep", {.dp = 2}, experts}, {"zero 3", {.dp = 4, .zero = 3}, experts}});
}

}  // namespace
