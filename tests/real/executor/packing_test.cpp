// tests/real/executor/packing_test.cpp -- documents that share a sequence: how their lengths are drawn, and that
// whatever computes attention over however many ranks leaves losses, norms and gradients those of one rank, to 1e-10.
// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "real/executor/documents.h"
#include "tests/real/executor/tiny.h"

namespace {

using spec::CpBalance;
using spec::CpKind;
using Kind = spec::Recompute::Kind;
using Change = std::function<void(spec::Job&)>;

const spec::Packing kMixed{.lengths = {3, 1, 5}}, kAround{.lengths = {}, .mean = 3, .deviation = 2};

std::vector<std::int64_t> lengths(const spec::Packing& packing, std::int64_t tokens, std::int64_t sequence) {
  std::vector<std::int64_t> out;
  std::int64_t at = 0;
  for (const plan::Stretch& d : real::draw_documents(packing, tokens, 9, sequence)) {
    EXPECT_EQ(d.begin, at);
    at += d.length;
    out.push_back(d.length);
  }
  EXPECT_EQ(at, tokens);
  return out;
}

TEST(Documents, FillASequenceWithLengthsOfTheListAndCutTheLast) {
  int threes = 0, documents = 0;
  for (std::int64_t sequence = 0; sequence < 100; ++sequence) {
    std::vector<std::int64_t> drawn = lengths(kMixed, 64, sequence);
    EXPECT_EQ(drawn, lengths(kMixed, 64, sequence));  // whoever draws
    drawn.pop_back();
    for (const std::int64_t length : drawn) {
      EXPECT_TRUE(length == 1 || length == 3 || length == 5) << length;
      threes += length == 3;
      ++documents;
    }
  }
  EXPECT_NEAR(threes / static_cast<double>(documents), 1.0 / 3, 0.04);  // of some 2,000: 3.7 standard deviations
  EXPECT_EQ(lengths({.lengths = {40}}, 64, 0), (std::vector<std::int64_t>{40, 24}));
  EXPECT_NE(lengths(kMixed, 64, 0), lengths(kMixed, 64, 1));
}

TEST(Documents, HaveTheMeanAndDeviationOfTheJob) {
  // Far from where a length below 1 would be drawn. 500 sequences of some 16 documents: the mean is known to 20 / 90.
  double sum = 0, squares = 0, documents = 0;
  for (std::int64_t sequence = 0; sequence < 500; ++sequence) {
    std::vector<std::int64_t> drawn = lengths({.lengths = {}, .mean = 100, .deviation = 20}, 1600, sequence);
    drawn.pop_back();
    for (const std::int64_t length : drawn) {
      sum += static_cast<double>(length);
      squares += static_cast<double>(length * length);
      ++documents;
    }
  }
  const double mean = sum / documents;
  EXPECT_NEAR(mean, 100, 1.5);  // the last one is left out, which is longer as a rule
  EXPECT_NEAR(std::sqrt(squares / documents - mean * mean), 20, 1);
  EXPECT_EQ(lengths({.lengths = {}, .mean = 100}, 250, 3), (std::vector<std::int64_t>{100, 100, 50}));
}

TEST(Documents, AreFoundByATokensPlace) {
  const std::vector<plan::Stretch> all{{0, 3}, {3, 1}, {4, 5}};
  EXPECT_EQ(real::document_at(all, 2).begin, 0);
  EXPECT_EQ(real::document_at(all, 3).begin, 3);
  EXPECT_EQ(real::document_at(all, 8).begin, 4);
}

TEST(Documents, AreCutByChunksThatAreCountedFromTheBeginOfTheSequence) {
  const auto cut = [](std::int64_t chunk) {
    std::vector<std::int64_t> begins;
    for (const plan::Stretch& s : real::cut_by_chunks({{0, 3}, {3, 1}, {4, 6}}, chunk)) begins.push_back(s.begin);
    return begins;
  };
  EXPECT_EQ(cut(0), (std::vector<std::int64_t>{0, 3, 4}));
  EXPECT_EQ(cut(4), (std::vector<std::int64_t>{0, 3, 4, 8}));
  EXPECT_EQ(cut(3), (std::vector<std::int64_t>{0, 3, 4, 6, 9}));
  EXPECT_EQ(cut(10), cut(0));
}

struct Case {
  const char* name;
  toy::Cut cut;
  Change change = [](spec::Job&) {};
};

spec::Job packed(const spec::Model& model, const toy::Cut& cut, const spec::Packing& packing) {
  spec::Job job = tiny::draft(model, cut);
  job.training.packing = packing;
  job.training.dropout = 0.1;
  return job;
}

/// `unchecked` sees the job behind what checks it.
void expect_the_same(
    const spec::Model& model, const spec::Packing& packing, const std::vector<Case>& cases,
    const Change& unchecked = [](spec::Job&) {}) {
  const tiny::Run alone = tiny::run(toy::resolved(packed(model, {}, packing)));
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + c.name);
    spec::Job job = packed(model, c.cut, packing);
    c.change(job);
    job = toy::resolved(job);
    unchecked(job);
    EXPECT_LT(tiny::difference(alone, tiny::run(job)), 1e-10);
  }
}

Change recompute(Kind kind) {
  return [kind](spec::Job& j) { j.strategy.recompute.kind = kind; };
}
Change unfused(Kind kind) {
  return [kind](spec::Job& j) {
    j.strategy.attention_kernel = spec::AttentionKernel::unfused;
    j.strategy.recompute.kind = kind;
    j.training.micro_batch = 2;
  };
}
Change context(int cp, CpKind kind, CpBalance balance) {
  return [=](spec::Job& j) {
    j.cluster = toy::cluster(cp * j.cluster.gpus());
    j.strategy.cp = cp;
    j.strategy.cp_kind = kind;
    j.strategy.cp_balance = balance;
    j.training.micro_batch = 2;
  };
}

TEST(Packing, OnOneRankAndOverTensorsStagesAndShards) {
  for (const spec::Model& model : {tiny::llama(), tiny::gpt(), tiny::alibi(), tiny::sinks(), tiny::latent()}) {
    expect_the_same(model, kMixed,
                    {{"two sequences at once", {}, [](spec::Job& j) { j.training.micro_batch = 2; }},
                     {"full", {}, recompute(Kind::full)},
                     {"selective", {.tp = 2, .sp = true}, recompute(Kind::selective)},
                     {"zero 3", {.dp = 2, .zero = 3}},
                     {"zero 1 on a pipeline", {.pp = 2, .dp = 2, .zero = 1}},
                     {"dualpipe", {.pp = 2, .schedule = spec::Schedule::dualpipe}}});
  }
}

TEST(Packing, OfWrittenScores) {
  for (const spec::Model& model : {tiny::llama(), tiny::gpt(), tiny::alibi(), tiny::sinks()}) {
    expect_the_same(model, kAround,
                    {{"one rank", {}, unfused(Kind::none)}, {"full", {.tp = 2, .sp = true}, unfused(Kind::full)}});
  }
  expect_the_same(tiny::llama(), kAround, {{"by operators", {.tp = 2}, unfused(Kind::selective_ops)}});
}

TEST(Packing, OverRanksThatShareASequence) {
  for (const spec::Model& model : {tiny::llama(), tiny::gpt(), tiny::alibi(), tiny::sinks()}) {
    expect_the_same(model, kAround,
                    {{"all-gather", {}, context(2, CpKind::all_gather, CpBalance::zigzag)},
                     {"all-gather of neighbours", {.tp = 2}, context(2, CpKind::all_gather, CpBalance::none)},
                     {"ulysses", {}, context(2, CpKind::ulysses, CpBalance::zigzag)},
                     {"ulysses with tp", {.tp = 2}, context(2, CpKind::ulysses, CpBalance::none)}});
  }
}

Change ring(
    int cp, CpBalance balance, Change change = [](spec::Job&) {}) {
  return [=](spec::Job& j) {
    context(cp, CpKind::ring, balance)(j);
    change(j);
  };
}

void expect_the_same_on_rings(const spec::Model& model, const spec::Packing& packing, Change unchecked) {
  expect_the_same(model, packing,
                  {{"zigzag", {}, ring(2, CpBalance::zigzag)},
                   {"contiguous", {}, ring(2, CpBalance::none)},
                   {"more ranks than tokens", {}, ring(4, CpBalance::zigzag)},
                   {"zero 3", {.dp = 2, .zero = 3}, ring(2, CpBalance::none)},
                   {"computed again", {.tp = 2, .sp = true}, ring(2, CpBalance::zigzag, recompute(Kind::full))},
                   {"attention computed again", {.pp = 2}, ring(2, CpBalance::none, recompute(Kind::selective))}},
                  unchecked);
}

spec::Model without_a_mask() {
  spec::Model m = tiny::gpt();
  m.name = "tiny without a mask";
  m.causal = false;
  return m;
}

TEST(Packing, OnARingOfWhichEachRankHasAPartOfEveryDocument) {
  for (const spec::Model& model : {tiny::llama(), tiny::gpt(), tiny::alibi(), tiny::sinks(), tiny::latent(),
                                   tiny::moe(), tiny::ahead(tiny::llama(), 2), without_a_mask()}) {
    for (const spec::Packing& packing : {kMixed, kAround}) {
      expect_the_same_on_rings(model, packing, [](spec::Job&) {});
    }
  }
}

TEST(Packing, OnARingUnderAWindowThatEndsItInNoDocument) {
  const auto run = [](int cp, int window, CpBalance balance) {
    spec::Job job = packed(tiny::llama(), {}, {.lengths = {16, 4, 7}});
    job.model.window = window;
    job.training.sequence = 16;
    if (cp > 1) context(cp, CpKind::ring, balance)(job);
    return tiny::run(toy::resolved(job));
  };
  const tiny::Run ten = run(1, 10, CpBalance::none), six = run(1, 6, CpBalance::none);
  EXPECT_LT(tiny::difference(ten, run(4, 10, CpBalance::none)), 1e-10);
  EXPECT_LT(tiny::difference(ten, run(4, 10, CpBalance::zigzag)), 1e-10);
  EXPECT_LT(tiny::difference(six, run(4, 6, CpBalance::zigzag)), 1e-10);
  EXPECT_LT(tiny::difference(six, run(2, 6, CpBalance::none)), 1e-10);
}

/// As torchtitan's, whose check refuses documents because PyTorch's ring knows none.
TEST(Packing, OnARingWhoseKeysComeAtOnce) {
  for (const spec::Model& model : {tiny::llama(), tiny::gpt(), tiny::latent()}) {
    expect_the_same_on_rings(model, kAround, [](spec::Job& j) { j.framework.ring_gathers = true; });
  }
}

/// One layer of chunks, one that sees whole documents.
spec::Model chunked(std::int64_t chunk) {
  spec::Model m = tiny::llama();
  m.name = "tiny chunks of " + std::to_string(chunk);
  m.attention_chunk = chunk;
  m.full_every = m.nope_every = 2;
  return m;
}

TEST(Packing, InChunksOfAttentionShorterAndLongerThanDocumentsAndOfNoPartOfTheSequence) {
  for (const std::int64_t chunk : {1, 2, 3, 4, 5, 7}) {
    expect_the_same(chunked(chunk), kMixed,
                    {{"two sequences at once", {}, [](spec::Job& j) { j.training.micro_batch = 2; }},
                     {"full", {.tp = 2, .sp = true}, recompute(Kind::full)},
                     {"selective", {.pp = 2}, recompute(Kind::selective)},
                     {"zero 3", {.dp = 2, .zero = 3}},
                     {"written scores", {}, unfused(Kind::none)},
                     {"written scores computed again", {.tp = 2}, unfused(Kind::full)},
                     {"ulysses", {}, context(2, CpKind::ulysses, CpBalance::zigzag)}});
  }
}

}  // namespace
