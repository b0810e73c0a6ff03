// tests/real/executor/alibi_test.cpp -- linear biases (ALiBi), whichever core computes attention and over however many
// ranks: losses, norms and gradients are those of one rank to 1e-10. SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "tests/real/executor/tiny.h"

namespace {

using spec::CpBalance;
using spec::CpKind;
using Kind = spec::Recompute::Kind;
using Change = std::function<void(spec::Job&)>;

struct Case {
  const char* name;
  toy::Cut cut;
  Change change = [](spec::Job&) {};
};

void expect_the_same(const spec::Model& model, const std::vector<Case>& cases) {
  const tiny::Run alone = tiny::run(toy::resolved(tiny::draft(model, {})));
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + c.name);
    spec::Job job = tiny::draft(model, c.cut);
    c.change(job);
    EXPECT_LT(tiny::difference(alone, tiny::run(toy::resolved(job))), 1e-10);
  }
}

Change recompute(Kind kind) {
  return [kind](spec::Job& j) { j.strategy.recompute.kind = kind; };
}
Change unfused(Kind kind) {
  return [kind](spec::Job& j) {
    j.strategy.attention_kernel = spec::AttentionKernel::unfused;
    j.strategy.recompute.kind = kind;
  };
}
Change context(int cp, CpKind kind, CpBalance balance, bool at_once = false) {
  return [=](spec::Job& j) {
    j.cluster = toy::cluster(cp * j.strategy.tp);
    j.strategy.cp = cp;
    j.strategy.cp_kind = kind;
    j.strategy.cp_balance = balance;
    j.framework.ring_gathers = at_once;
    j.training.micro_batch = 2;
  };
}

spec::Model windowed() {
  spec::Model m = tiny::alibi();
  m.name = "tiny alibi with windows";
  m.window = 3;
  return m;
}

// Each rank of tp has slopes of its own heads; six have those of no power of two.
TEST(Alibi, OnOneRankAndOverHeads) {
  expect_the_same(tiny::alibi(), {{"full", {}, recompute(Kind::full)},
                                  {"selective", {.tp = 2, .sp = true}, recompute(Kind::selective)},
                                  {"tp", {.tp = 4}},
                                  {"zero 3", {.dp = 2, .zero = 3}},
                                  {"zero 1 on a pipeline", {.pp = 2, .dp = 2, .zero = 1}}});
  expect_the_same(tiny::alibi(6), {{"tp", {.tp = 2}}});
  expect_the_same(windowed(), {{"tp", {.tp = 2, .sp = true}}});
}

TEST(Alibi, OfWrittenScores) {
  for (const spec::Model& model : {tiny::alibi(), tiny::alibi(6), windowed()}) {
    expect_the_same(model, {{"one rank", {}, unfused(Kind::none)},
                            {"selective", {.tp = 2, .sp = true}, unfused(Kind::selective)},
                            {"full", {.tp = 2}, unfused(Kind::full)},
                            {"by operators", {.tp = 2, .sp = true}, unfused(Kind::selective_ops)}});
  }
}

// Blocks without a mask have their distances all the same.
TEST(Alibi, OverRanksThatShareASequence) {
  expect_the_same(tiny::alibi(), {{"ring", {}, context(2, CpKind::ring, CpBalance::none)},
                                  {"zigzag ring", {.tp = 2}, context(4, CpKind::ring, CpBalance::zigzag)},
                                  {"ring at once", {}, context(2, CpKind::ring, CpBalance::zigzag, true)}});
  for (const spec::Model& model : {tiny::alibi(), windowed()}) {
    expect_the_same(model, {{"all-gather", {}, context(2, CpKind::all_gather, CpBalance::zigzag)},
                            {"ulysses", {}, context(4, CpKind::ulysses, CpBalance::none)},
                            {"ulysses with tp", {.tp = 2}, context(2, CpKind::ulysses, CpBalance::zigzag)}});
  }
}

}  // namespace
