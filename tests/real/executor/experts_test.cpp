// tests/real/executor/experts_test.cpp -- wherever experts are, and however tokens come to them, losses of two steps,
// norms and every gradient are those of one rank to 1e-10. SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include "tests/real/executor/cases.h"

namespace {

using spec::CpKind;
using spec::MoeDispatcher;
using spec::Schedule;
using tiny::barrier;
using tiny::both;
using tiny::context;
using tiny::expect_the_same;
using tiny::experts;
using tiny::overlap;
using tiny::recompute;
using Kind = spec::Recompute::Kind;

/// Biases, no gates, and no expert that all tokens visit.
spec::Model plain() {
  spec::Model m = tiny::gpt(4);
  m.name = "tiny gpt of experts";
  m.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 12};
  return m;
}

void shared_beside(spec::Job& j) { j.strategy.overlap.shared_expert = true; }

TEST(Experts, AreTheSameUnderEveryStrategy) {
  const auto beside = [](spec::Job& j) { j.strategy.overlap.expert = true; };
  const auto gathers = [](spec::Job& j) { j.framework.each_optimizer_gathers = true; };
  const auto biases = [](spec::ExpertBiases way) { return [way](spec::Job& j) { j.framework.expert_biases = way; }; };
  expect_the_same({tiny::moe(4), plain(), tiny::router_bias(4)},
                  {{"ep 4", {.dp = 4}, experts(4, 1)},
                   {"ep 2 of 4", {.dp = 4}, experts(2, 1)},
                   {"computed again", {.dp = 2}, both(experts(2, 1), recompute(Kind::full))},
                   {"etp", {.dp = 2}, experts(1, 2)},
                   {"ep and etp over tp", {.tp = 2, .sp = true, .dp = 2}, experts(2, 2)},
                   {"zero 1", {.tp = 2, .sp = true, .dp = 2, .zero = 1}, experts(2, 1)},
                   {"zero 1, each optimizer gathers all", {.dp = 4, .zero = 1}, both(experts(2, 1), gathers)},
                   {"zero 3", {.dp = 4, .zero = 3}, experts(2, 1)},
                   {"dualpipe", {.pp = 2, .dp = 2, .schedule = Schedule::dualpipe}, experts(2, 1)},
                   {"zb-v", {.pp = 2, .dp = 2, .schedule = Schedule::zb_v}, both(experts(2, 1), barrier)},
                   {"pairs of passes", {.pp = 2, .dp = 2}, both(experts(2, 1), beside)},
                   {"biases by expert", {.dp = 2}, both(experts(2, 1), biases(spec::ExpertBiases::by_expert))},
                   {"biases by row", {.dp = 2}, both(experts(2, 1), biases(spec::ExpertBiases::by_row))},
                   {"shared experts beside", {.tp = 2, .sp = true}, both(experts(2, 1), shared_beside)}});
}

void expect_the_same_by(MoeDispatcher way) {
  SCOPED_TRACE(spec::name(way));
  const auto sent = [way](
                        int ep, int etp, tiny::Change change = [](spec::Job&) {}) {
    return both(experts(ep, etp), change, [way](spec::Job& j) { j.strategy.moe_dispatcher = way; });
  };
  expect_the_same({tiny::moe(4), plain()},
                  {{"ep 4", {.dp = 4}, sent(4, 1)},
                   {"ep 2 of 4", {.dp = 4}, sent(2, 1)},
                   {"one rank", {}, sent(1, 1)},
                   {"computed again", {.dp = 2}, sent(2, 1, recompute(Kind::full))},
                   {"by operators", {.dp = 4}, sent(2, 2, recompute(Kind::selective_ops))},
                   {"etp alone", {.dp = 2}, sent(1, 2)},
                   {"ep and etp over tp", {.tp = 2, .sp = true, .dp = 2}, sent(2, 2)},
                   {"ep over cp", {}, sent(2, 1, context(2, CpKind::ring, true))},
                   {"zero 1", {.tp = 2, .sp = true, .dp = 2, .zero = 1}, sent(2, 1)},
                   {"zero 2", {.dp = 4, .zero = 2}, sent(2, 2)},
                   {"zero 3", {.dp = 4, .zero = 3}, sent(2, 1, overlap(true, true))},
                   {"zb-v", {.pp = 2, .dp = 2, .schedule = Schedule::zb_v}, sent(2, 1, barrier)},
                   {"dualpipe", {.pp = 2, .dp = 2, .schedule = Schedule::dualpipe}, sent(2, 1)},
                   {"shared experts beside", {.tp = 2, .sp = true}, sent(2, 1, shared_beside)}});
}

TEST(Experts, AreTheSameWhereRowsGoByTheOperation) {
  // Results that nothing kept are made and sent again to be weighed (heads with norms: no exchange is kept either).
  const auto by_operation = [](spec::Job& j) { j.strategy.fused_kernels.permute = false; };
  const auto padded = [](spec::Job& j) { j.framework.pads_experts = true; };
  const auto operators = recompute(Kind::selective_ops);
  spec::Model normed = tiny::moe(4);
  normed.qk_norm = true;
  normed.moe->shared_experts = 0;
  normed.moe->shared_ffn = 0;
  expect_the_same({tiny::moe(4), plain(), normed},
                  {{"on one rank", {}, both(by_operation, operators)},
                   {"ep 2", {.dp = 2}, both(experts(2, 1), both(by_operation, operators))},
                   {"ep and etp", {.tp = 2, .sp = true, .dp = 2}, both(experts(2, 2), both(by_operation, operators))},
                   {"padded on one rank", {}, padded},
                   {"padded, ep 2", {.dp = 2}, both(experts(2, 1), padded)}});
}

TEST(Experts, GetAllTokens) { expect_the_same_by(MoeDispatcher::allgather); }

TEST(Experts, GetEachTokenOnceARank) {
  expect_the_same_by(MoeDispatcher::deepep);
  const auto beside = [](spec::Job& j) { j.strategy.overlap.expert = true; };
  const auto deepep = [](spec::Job& j) { j.strategy.moe_dispatcher = MoeDispatcher::deepep; };
  expect_the_same(tiny::moe(4), {{"pairs of passes", {.pp = 2, .dp = 2}, both(experts(2), deepep, beside)}});
}

/// Of 64 experts two for each of 8 tokens a rank: most have nothing to do, and no token of a rank visits some others.
TEST(Experts, ThatNobodyVisitsGetNothing) {
  spec::Model sparse = tiny::moe();
  sparse.name = "tiny moe of lone experts";
  sparse.moe->experts = 64;
  for (const MoeDispatcher way : {MoeDispatcher::alltoall, MoeDispatcher::allgather, MoeDispatcher::deepep}) {
    expect_the_same(sparse, {{"ep 8", {.dp = 8}, experts(8)}, {"ep and etp", {.dp = 8}, experts(4, 2)}},
                    [way](spec::Job& j) { j.strategy.moe_dispatcher = way; });
  }
}

/// Latent attention ahead of experts: a count of matmuls of its own.
spec::Model latent_experts(int query_rank) {
  spec::Model m = tiny::moe();
  m.name = "tiny latent experts with queries of " + std::to_string(query_rank);
  m.kv_heads = 4;
  m.mla = tiny::latent(query_rank).mla;
  return m;
}

TEST(Experts, BehindLatentAttentionAreComputedAgainByOperators) {
  const auto operators = recompute(Kind::selective_ops);
  const auto kept = tiny::overlap_tp(spec::TpOverlap::none, true);
  const auto chunked = tiny::overlap_tp(spec::TpOverlap::chunked, true);
  expect_the_same({tiny::latent(), tiny::latent(0), tiny::moe(), latent_experts(12), latent_experts(0)},
                  {{"one rank", {}, operators},
                   {"unfused", {}, tiny::unfused(Kind::selective_ops)},
                   {"sequence parallel", {.tp = 2, .sp = true}, operators},
                   {"gathered inputs kept", {.tp = 2, .sp = true}, both(operators, kept)},
                   {"chunked", {.tp = 2, .sp = true}, both(operators, chunked)},
                   {"compiled", {}, both(operators, [](spec::Job& j) { j.strategy.compile = true; })},
                   {"zero 3", {.dp = 2, .zero = 3}, operators}});
  expect_the_same({tiny::latent(), tiny::latent(0)}, {{"tp", {.tp = 2}, operators}});
}

TEST(Experts, AreComputedAgainByOperatorsWhereverTheyAre) {
  const auto spread = [](int ep, int etp, MoeDispatcher dispatcher, std::optional<double> capacity = {}) {
    return [=](spec::Job& j) {
      experts(ep, etp)(j);
      j.strategy.recompute.kind = Kind::selective_ops;
      j.strategy.moe_dispatcher = dispatcher;
      j.strategy.moe_capacity_factor = capacity;
    };
  };
  expect_the_same({tiny::moe(), latent_experts(12)},
                  {{"ep 2", {.dp = 2}, spread(2, 1, MoeDispatcher::alltoall)},
                   {"an expert a rank", {.dp = 4}, spread(4, 1, MoeDispatcher::alltoall)},
                   {"etp 2", {.dp = 2}, spread(1, 2, MoeDispatcher::alltoall)},
                   {"both", {.dp = 4, .zero = 1}, spread(2, 2, MoeDispatcher::alltoall)},
                   {"gathered", {.dp = 4}, spread(2, 2, MoeDispatcher::allgather)},
                   {"padded to a capacity", {.dp = 4}, spread(2, 2, MoeDispatcher::alltoall, 4)}});
}

}  // namespace
