// tests/real/executor/alibi_test.cpp -- linear biases (ALiBi), whichever core computes attention and over however many
// ranks: losses, norms and gradients are those of one rank to 1e-10. SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/cases.h"

namespace {

using spec::CpKind;
using tiny::both;
using tiny::expect_the_same;
using tiny::recompute;
using tiny::unfused;
using Kind = spec::Recompute::Kind;

tiny::Change context(int cp, CpKind kind, bool zigzag) { return tiny::context(cp, kind, zigzag, 2); }

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
  expect_the_same(tiny::alibi(), {{"ring", {}, context(2, CpKind::ring, false)},
                                  {"zigzag ring", {.tp = 2}, context(4, CpKind::ring, true)},
                                  {"ring at once", {}, both(context(2, CpKind::ring, true), tiny::at_once)}});
  for (const spec::Model& model : {tiny::alibi(), windowed()}) {
    expect_the_same(model, {{"all-gather", {}, context(2, CpKind::all_gather, true)},
                            {"ulysses", {}, context(4, CpKind::ulysses, false)},
                            {"ulysses with tp", {.tp = 2}, context(2, CpKind::ulysses, true)}});
  }
}

}  // namespace
