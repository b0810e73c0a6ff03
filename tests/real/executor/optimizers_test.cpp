// tests/real/executor/optimizers_test.cpp -- SGD, and AdamW with moments of 8 bits: what each rank makes of its
// gradients is the optimizer's step on flat buffers, and whatever a model is cut into, four steps are those of one
// rank. SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "real/cpu/memory.h"
#include "tests/real/executor/tiny.h"

namespace {

using plan::Axis;
using spec::Optimizer;
using spec::Schedule;
using Change = std::function<void(spec::Job&)>;

struct Case {
  const char* name;
  toy::Cut cut;
  Change change = [](spec::Job&) {};
};

spec::Job job_of(const spec::Model& model, Optimizer optimizer, const Case& c) {
  spec::Job job = tiny::draft(model, c.cut);
  job.training.optimizer = optimizer;
  job.cluster.node.pcie.bandwidth = base::GBps(10);
  job.cluster.node.host = {.memory = base::GB(100), .bandwidth = base::GBps(100)};
  job.cluster.node.nvme.read = job.cluster.node.nvme.write = base::GBps(5);
  c.change(job);
  return toy::resolved(job);
}

Change shard(int ranks) {
  return [ranks](spec::Job& j) { j.strategy.shard = ranks; };
}
void barrier(spec::Job& j) { j.strategy.optimizer_barrier = true; }
void experts(spec::Job& j) { j.strategy.ep = 2; }
Change adapters(int rank) {
  return [rank](spec::Job& j) { j.strategy.lora = {.rank = rank, .qkv = true, .proj = true, .ffn = true}; };
}
Change experts_and_adapters(int rank) {
  return [rank](spec::Job& j) { experts(j), adapters(rank)(j); };
}
void ring(spec::Job& j) {
  j.strategy.cp = 2;
  j.strategy.cp_kind = spec::CpKind::ring;
  j.cluster = toy::cluster(2 * j.strategy.pp * *j.strategy.dp);
}
Change offload(const spec::Offload& offload, std::int64_t tile = 0) {
  return [=](spec::Job& j) {
    j.strategy.offload = offload;
    j.strategy.offload_given = true;
    j.framework.optimizer_tile = base::Bytes(static_cast<double>(tile));
  };
}

// What each rank does with its own gradients.

using Key = std::tuple<int, int, std::string>;  // rank, layer, parameter

struct Kept {
  std::map<Key, std::vector<double>> gradients, masters;  // of the last step, of the owned ranges
  double norm = 0;
};

std::vector<double> copied(const real::Tensor& t) {
  const auto all = real::cpu::numbers(t);
  return {all.begin(), all.end()};
}

Kept after(const spec::Job& job, int steps, std::map<Key, std::vector<double>>& start) {
  Kept out;
  const auto visit = [&](const real::Executor& executor) {
    const real::RankState& state = executor.state();
    for (const real::Parameter& p : state.parameters.all()) {
      if (p.frozen) continue;
      const Key key{state.place.rank(), p.layer, p.name};
      out.gradients[key] = state.kept_gradients.at({p.layer, p.name});
      out.masters[key] = copied(p.master.tensor);
      const std::vector<double> whole = real::starting_values(p, tiny::settings().seed);
      start[key] = {whole.begin() + p.owned.begin, whole.begin() + p.owned.begin + p.owned.length};
    }
  };
  const real::Trained trained =
      real::train_on_cpu(job, plan::build(job), tiny::tokens(job), tiny::settings(), steps, {}, visit);
  out.norm = trained.gradient_norms.back();
  return out;
}

struct Moments {
  explicit Moments(std::size_t n)
      : m(n), v(n), m_scales(kernels::moment_blocks(n)), v_scales(kernels::moment_blocks(n)) {}
  std::vector<double> m, v, m_scales, v_scales;
};

void step(Optimizer optimizer, int number, double factor, const std::vector<double>& gradient,
          std::vector<double>& master, Moments& moments) {
  kernels::AdamW adamw = tiny::settings().optimizer;
  adamw.step = number;
  if (optimizer == Optimizer::sgd) {
    kernels::reference::sgd(tiny::settings().sgd, factor, gradient, master, moments.m);
  } else {
    kernels::reference::adamw8bit(adamw, factor, gradient, master, moments.m, moments.m_scales, moments.v,
                                  moments.v_scales);
  }
}

void expect_plain_steps(const spec::Model& model, Optimizer optimizer, const Case& c) {
  SCOPED_TRACE(model.name + ", " + std::string(spec::name(optimizer)) + ", " + c.name);
  const spec::Job job = job_of(model, optimizer, c);
  std::map<Key, std::vector<double>> masters;
  std::map<Key, Moments> moments;
  for (int number = 1; number <= 4; ++number) {
    std::map<Key, std::vector<double>> start;
    const Kept kept = after(job, number, start);
    if (number == 1) masters = start;
    const double factor = std::min(1.0, tiny::settings().clip / kept.norm);
    for (auto& [key, master] : masters) {
      const std::vector<double>&gradient = kept.gradients.at(key), &got = kept.masters.at(key);
      step(optimizer, number, factor, gradient, master, moments.try_emplace(key, master.size()).first->second);
      ASSERT_EQ(got.size(), master.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], master[i], 1e-12) << "step " << number << ' ' << std::get<2>(key) << ' ' << i;
      }
    }
  }
}

const Case kHostUpdates{"on the host", {.dp = 2, .zero = 1}, offload({.optimizer = spec::Offload::To::cpu})};

TEST(Optimizers, EachRankMakesThePlainStepOfItsShare) {
  const std::vector<Case> cases{{"one rank", {}},
                                {"tp, zero 1", {.tp = 2, .sp = true, .dp = 2, .zero = 1}},
                                {"zero 3", {.tp = 2, .dp = 2, .zero = 3}},
                                {"pipeline", {.pp = 2, .dp = 2, .zero = 2}},
                                {"adapters", {.tp = 2, .dp = 2, .zero = 1}, adapters(4)}};
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adamw8bit}) {
    for (const Case& c : cases) expect_plain_steps(tiny::gpt(), optimizer, c);
    expect_plain_steps(tiny::moe(), optimizer, {"experts", {.dp = 2, .zero = 1}, experts});
    expect_plain_steps(tiny::moe(), optimizer, {"their adapters", {.dp = 4, .zero = 1}, experts_and_adapters(4)});
  }
  expect_plain_steps(tiny::llama(), Optimizer::sgd, kHostUpdates);
  expect_plain_steps(tiny::moe(), Optimizer::sgd, kHostUpdates);
}

// The same whatever the model is cut into.

constexpr int kSteps = 4;

void expect_the_same(
    const spec::Model& model, Optimizer optimizer, const std::vector<Case>& cases,
    const Change& all = [](spec::Job&) {}) {
  const tiny::Run alone = tiny::run(job_of(model, optimizer, {"alone", {}, all}), kSteps);
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + std::string(spec::name(optimizer)) + ", " + c.name);
    const auto change = [&](spec::Job& j) { all(j), c.change(j); };
    EXPECT_LT(tiny::difference(alone, tiny::run(job_of(model, optimizer, {c.name, c.cut, change}), kSteps)), 1e-10);
  }
}

const std::vector<Case> kReplicas{{"ddp", {.dp = 2}},
                                  {"zero 1", {.dp = 2, .zero = 1}},
                                  {"zero 2", {.dp = 2, .zero = 2}},
                                  {"zero 3", {.dp = 2, .zero = 3}},
                                  {"hsdp", {.dp = 4, .zero = 3}, shard(2)},
                                  {"zero 1 in groups", {.dp = 4, .zero = 1}, shard(2)},
                                  {"ring", {.zero = 1}, ring},
                                  {"pipeline", {.pp = 2}},
                                  {"interleaved, zero 2", {.pp = 2, .vpp = 2, .dp = 2, .zero = 2}},
                                  {"zb-v, zero 3", {.pp = 2, .dp = 2, .zero = 3, .schedule = Schedule::zb_v}, barrier},
                                  {"dualpipe", {.pp = 2, .schedule = Schedule::dualpipe}, barrier}};

TEST(Optimizers, SgdEqualsOneRank) {
  const std::vector<Case> cut{{"tp", {.tp = 2}},
                              {"sequence parallel, zero 3", {.tp = 4, .sp = true, .dp = 2, .zero = 3}},
                              {"sequence parallel, pipeline", {.tp = 2, .sp = true, .pp = 2, .dp = 2, .zero = 1}}};
  for (const spec::Model& model : {tiny::llama(4), tiny::gpt(4)}) {
    expect_the_same(model, Optimizer::sgd, kReplicas);
    expect_the_same(model, Optimizer::sgd, cut);
  }
  expect_the_same(tiny::moe(4), Optimizer::sgd,
                  {{"experts", {.dp = 2}, experts}, {"experts, zero 3", {.dp = 4, .zero = 3}, experts}});
  expect_the_same(tiny::llama(), Optimizer::sgd, {{"tp", {.tp = 2}}, {"zero 3", {.dp = 2, .zero = 3}}}, adapters(4));
  expect_the_same(tiny::moe(4), Optimizer::sgd,
                  {{"experts' adapters", {.dp = 2}, experts}, {"in shards", {.dp = 4, .zero = 3}, experts}},
                  adapters(4));
}

TEST(Optimizers, SgdOnTheHostAndOnDrivesEqualsOneRank) {
  using To = spec::Offload::To;
  expect_the_same(
      tiny::llama(4), Optimizer::sgd,
      {kHostUpdates,
       {"in tiles", {.pp = 2, .dp = 2, .zero = 2}, offload({.optimizer = To::cpu}, 4000)},
       {"parameters too", {.dp = 2, .zero = 3}, offload({.optimizer = To::cpu, .parameters = To::cpu})},
       {"parameters alone", {.dp = 2, .zero = 3}, offload({.parameters = To::cpu})},
       {"on drives", {.dp = 2, .zero = 3}, offload({.optimizer = To::nvme}, 4000)},
       {"all on drives", {.dp = 2, .zero = 3}, offload({.optimizer = To::nvme, .parameters = To::nvme}, 4000)}});
  const auto of_experts = [](const Change& change) { return [=](spec::Job& j) { experts(j), change(j); }; };
  expect_the_same(tiny::moe(4), Optimizer::sgd,
                  {{"experts", {.dp = 4, .zero = 2}, of_experts(offload({.optimizer = To::cpu}, 4000))},
                   {"on drives", {.dp = 4, .zero = 3}, of_experts(offload({.optimizer = To::nvme}, 4000))}});
}

/// Shares of whole blocks have the scales of the whole.
TEST(Optimizers, MomentsOf8BitsEqualThoseOfOneRankWhereTheirBlocksLieAlike) {
  const auto model = [](const spec::Model& of) { return tiny::wide(of); };
  expect_the_same(model(tiny::llama(4)), Optimizer::adamw8bit, kReplicas);
  expect_the_same(model(tiny::llama(4)), Optimizer::adamw8bit,
                  {{"parameters on the host", {.dp = 2, .zero = 3}, offload({.parameters = spec::Offload::To::cpu})}});
  expect_the_same(model(tiny::moe(4)), Optimizer::adamw8bit,
                  {{"experts", {.dp = 2}, experts}, {"experts, zero 3", {.dp = 2, .zero = 3}, experts}});
  expect_the_same(model(tiny::llama()), Optimizer::adamw8bit,
                  {{"zero 1", {.dp = 2, .zero = 1}}, {"zero 3", {.dp = 2, .zero = 3}}}, adapters(128));
  expect_the_same(model(tiny::moe()), Optimizer::adamw8bit,
                  {{"experts' adapters", {.dp = 2}, experts}, {"in shards", {.dp = 2, .zero = 3}}}, adapters(64));
}

/// How far all gradients of the last step are from those of another run, by their Euclidean norm.
double apart(const tiny::Run& a, const tiny::Run& b) {
  double sum = 0;
  for (const auto& [key, values] : a.gradients) {
    const std::vector<double>& others = b.gradients.at(key);
    for (std::size_t i = 0; i < values.size(); ++i) sum += (values[i] - others[i]) * (values[i] - others[i]);
  }
  return std::sqrt(sum);
}

/// Cut otherwise a block has other numbers, and another scale. No bound on a single step holds: a v that is rounded to
/// 0 leaves m without its measure. But whatever the blocks, each of the thousands of moments is off by its own share of
/// a gap between codes, and the sum of so many errors is nearly the same; so what rounding does to the gradients of
/// the fourth step, which have seen weights of two rounded ones, is as large as on one rank to a factor of 2.
TEST(Optimizers, MomentsOf8BitsAreAsFarFromThoseOf32WhereverTheirBlocksLie) {
  for (const spec::Model& model : {tiny::llama(4), tiny::gpt(4)}) {
    const tiny::Run wide = tiny::run(job_of(model, Optimizer::adamw, {"in full", {}}), kSteps);
    const tiny::Run alone = tiny::run(job_of(model, Optimizer::adamw8bit, {"alone", {}}), kSteps);
    for (const Case& c : std::vector<Case>{{"tp", {.tp = 2}},
                                           {"sequence parallel, zero 3", {.tp = 4, .sp = true, .dp = 2, .zero = 3}}}) {
      SCOPED_TRACE(model.name + ", " + c.name);
      const tiny::Run cut = tiny::run(job_of(model, Optimizer::adamw8bit, c), kSteps);
      // No moment that was rounded enters the weights of the second step.
      for (const int exact : {0, 1}) EXPECT_NEAR(cut.losses[exact], wide.losses[exact], 1e-10);
      EXPECT_GT(apart(cut, alone), 1e-6);
      EXPECT_GT(apart(cut, wide), apart(alone, wide) / 2);
      EXPECT_LT(apart(cut, wide), apart(alone, wide) * 2);
    }
  }
}

TEST(Optimizers, MomentsOf8BitsOfCopiedHeadsAreTheSameOnAllRanksThatHoldThem) {
  // Two key heads on four ranks: ranks 0 and 1 have one, 2 and 3 the other. 16 numbers wide, 4 query rows are 64
  // numbers, a quarter of a block: without blocks of their own the copies' moments would be rounded by each rank's
  // queries.
  const spec::Job job = job_of(tiny::llama(), Optimizer::adamw8bit, {"copied heads", {.tp = 4}});
  std::map<std::pair<int, int>, std::vector<double>> copies;  // by layer and rank
  const auto visit = [&](const real::Executor& executor) {
    for (const real::Parameter& p : executor.state().parameters.all()) {
      if (p.single < 0) continue;
      const std::vector<double> all = executor.state().backend.download(p.master.tensor);
      copies[{p.layer, executor.state().place.rank()}].assign(all.begin() + p.single, all.end());
    }
  };
  real::train_on_cpu(job, plan::build(job), tiny::tokens(job), tiny::settings(), 8, {}, visit);
  ASSERT_EQ(copies.size(), 2u * 4u);
  for (const int layer : {0, 1}) {
    for (const int rank : {0, 2}) {
      const auto &one = copies[{layer, rank}], &other = copies[{layer, rank + 1}];
      for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], other[i], 1e-12) << layer << ' ' << rank;
    }
  }
}

TEST(Optimizers, TheLossGoesDown) {
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adamw8bit}) {
    const tiny::Run run = tiny::run(job_of(tiny::llama(), optimizer, {"one rank", {}}), 25);
    EXPECT_GT(run.losses.front(), 3.2);
    EXPECT_LT(run.losses.back(), 0.9 * run.losses.front()) << spec::name(optimizer);
  }
}

}  // namespace
