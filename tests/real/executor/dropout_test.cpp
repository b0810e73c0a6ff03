// tests/real/executor/dropout_test.cpp -- dropout: whatever a model is cut into, the same elements are dropped, so
// losses, norms and gradients are those of one rank to 1e-10. That one rank drops what the formulas say is in
// single_rank_test.cpp. SPDX-License-Identifier: Apache-2.0
#include "real/executor/dropout.h"

#include <set>

#include "tests/real/executor/cases.h"

namespace {

using spec::AttentionKernel;
using spec::CpKind;
using spec::Schedule;
using Kind = spec::Recompute::Kind;
using tiny::barrier;
using tiny::both;
using tiny::Case;
using tiny::Change;
using tiny::recompute;
using tiny::two_sequences;

void with_dropout(spec::Job& j) { j.training.dropout = 0.2; }

void expect_the_same(const std::vector<spec::Model>& models, const std::vector<Case>& cases) {
  tiny::expect_the_same(models, cases, with_dropout);
}

Change written(AttentionKernel kernel) {
  return [kernel](spec::Job& j) { j.strategy.attention_kernel = kernel; };
}
Change context(int cp, CpKind kind, bool zigzag) { return tiny::context(cp, kind, zigzag, 2); }

/// Of two steps with the same tokens, whose parameters stay as they are.
std::vector<double> losses_without_learning(double dropout) {
  spec::Job job = tiny::draft(tiny::gpt(), {});
  job.training.dropout = dropout;
  job = toy::resolved(job);
  const std::int64_t tokens_of_step = job.training.global_batch * job.training.sequence;
  std::vector<std::int32_t> text;
  for (std::int64_t i = 0; i < tokens_of_step; ++i) text.push_back(static_cast<std::int32_t>(7 * i % job.model.vocab));
  real::Settings settings;
  settings.optimizer.learning_rate = 0;
  const base::Seconds wait = base::s(60);
  return real::train_on_cpu(job, plan::build(job), real::Tokens(job.model.vocab, text), settings, 2, {wait, wait, wait})
      .losses;
}

TEST(Dropout, IsDrawnAnewInEveryStep) {
  const std::vector<double> with = losses_without_learning(0.2), without = losses_without_learning(0);
  EXPECT_EQ(without[0], without[1]);
  EXPECT_GT(std::abs(with[0] - with[1]), 1e-3);
  EXPECT_GT(std::abs(with[0] - without[0]), 1e-3);
}

TEST(Dropout, HasAStreamForEachSeedLayerAndSite) {
  std::set<std::uint64_t> streams;
  for (const std::uint64_t seed : {1, 2}) {
    for (int layer = -1; layer < 5; ++layer) {
      for (int site = 0; site < 4; ++site) {
        streams.insert(real::dropout_stream(seed, layer, static_cast<real::DropoutSite>(site)));
      }
    }
  }
  EXPECT_EQ(streams.size(), 2u * 6 * 4);
}

TEST(Dropout, AccumulationAndRecomputation) {
  expect_the_same({tiny::gpt(), tiny::moe(), tiny::parallel(1), tiny::latent()},
                  {{"microbatches of 2", {}, two_sequences},
                   {"selective", {}, recompute(Kind::selective)},
                   {"full", {}, recompute(Kind::full)},
                   {"full in one layer", {}, [](spec::Job& j) {
                      j.strategy.recompute = {Kind::full, 1};
                    }}});
  expect_the_same({tiny::gpt(), tiny::parallel(2)},
                  {{"by operators", {}, recompute(Kind::selective_ops)},
                   {"by operators on two ranks", {.tp = 2, .sp = true}, recompute(Kind::selective_ops)}});
}

TEST(Dropout, OfWrittenScoresIsThatOfTheFusedKernel) {
  const Change unfused = written(AttentionKernel::unfused);
  expect_the_same({tiny::gpt(), tiny::llama(), tiny::parallel(2), tiny::latent()},
                  {{"one rank", {}, unfused},
                   {"one kernel of softmax", {}, written(AttentionKernel::fused_softmax)},
                   {"two sequences", {.tp = 2, .sp = true}, both(unfused, two_sequences)},
                   {"selective", {.tp = 2}, both(unfused, recompute(Kind::selective))},
                   {"full", {}, both(unfused, recompute(Kind::full))}});
  expect_the_same({tiny::gpt()}, {{"by operators", {}, both(unfused, recompute(Kind::selective_ops))}});
}

TEST(Dropout, OverRanksThatShareTensors) {
  const auto overlapped = [](spec::TpOverlap tp) { return [tp](spec::Job& j) { j.strategy.overlap.tp = tp; }; };
  expect_the_same({tiny::gpt(), tiny::llama(), tiny::parallel(1), tiny::parallel(2)},
                  {{"tp", {.tp = 2}},
                   {"sequence parallel", {.tp = 2, .sp = true}, two_sequences},
                   {"chunked", {.tp = 2, .sp = true}, overlapped(spec::TpOverlap::chunked)},
                   {"userbuffers", {.tp = 2, .sp = true}, overlapped(spec::TpOverlap::userbuffers)},
                   {"ddp", {.dp = 2}},
                   {"zero 1", {.dp = 2, .zero = 1}},
                   {"zero 3", {.dp = 2, .zero = 3}}});
  expect_the_same({tiny::moe()}, {{"experts on two ranks", {.dp = 2}, [](spec::Job& j) { j.strategy.ep = 2; }},
                                  {"sequence parallel", {.tp = 2, .sp = true}},
                                  {"zero 3", {.dp = 2, .zero = 3}}});
}

TEST(Dropout, OverPipelines) {
  const spec::Model gpt = tiny::gpt(4), llama = tiny::llama(4);
  expect_the_same({gpt, llama}, {{"gpipe", {.pp = 2, .schedule = Schedule::gpipe}},
                                 {"1f1b", {.pp = 2, .dp = 2}},
                                 {"interleaved", {.pp = 2, .vpp = 2}},
                                 {"zb-h1", {.pp = 2, .schedule = Schedule::zb_h1}, barrier},
                                 {"zb-h2", {.pp = 2, .schedule = Schedule::zb_h2}, barrier},
                                 {"zb-v", {.pp = 2, .schedule = Schedule::zb_v}, barrier},
                                 {"dualpipe", {.pp = 2, .schedule = Schedule::dualpipe}}});
}

TEST(Dropout, OverRanksThatShareASequence) {
  expect_the_same({tiny::gpt(), tiny::llama()},
                  {{"ring", {}, context(2, CpKind::ring, false)},
                   {"zigzag ring of 4", {}, context(4, CpKind::ring, true)},
                   {"ring at once", {}, both(context(2, CpKind::ring, true), tiny::at_once)},
                   {"all-gather", {}, context(2, CpKind::all_gather, true)},
                   {"ulysses", {}, context(2, CpKind::ulysses, false)},
                   {"ulysses with tp", {.tp = 2, .sp = true}, context(2, CpKind::ulysses, true)},
                   {"heads copied", {}, both(context(2, CpKind::ulysses, true), [](spec::Job& j) {
                      j.framework.expands_kv = true;
                    })}});
}

}  // namespace
