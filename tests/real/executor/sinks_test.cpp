// tests/real/executor/sinks_test.cpp -- attention sinks, whichever core computes attention and over however many ranks:
// losses, norms and gradients are those of one rank to 1e-10. SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/cases.h"

namespace {

using spec::CpKind;
using tiny::both;
using tiny::expect_the_same;
using tiny::recompute;
using tiny::unfused;
using Kind = spec::Recompute::Kind;

tiny::Change context(int cp, CpKind kind, bool zigzag) { return tiny::context(cp, kind, zigzag, 2); }

spec::Model without_windows() {
  spec::Model m = tiny::sinks();
  m.name = "tiny sinks without windows";
  m.window = 0;
  return m;
}

spec::Model chunked() {
  spec::Model m = without_windows();
  m.name = "tiny sinks in chunks";
  m.attention_chunk = 4;
  return m;
}

spec::Model latent() {
  spec::Model m = tiny::latent();
  m.name = "tiny latent sinks";
  m.attention_sinks = true;
  return m;
}

TEST(Sinks, OnOneRankAndOverHeads) {
  for (const spec::Model& model : {tiny::sinks(), chunked(), latent()}) {
    expect_the_same(model, {{"full", {}, recompute(Kind::full)},
                            {"selective", {.tp = 2, .sp = true}, recompute(Kind::selective)},
                            {"tp", {.tp = 4}},
                            {"zero 3", {.dp = 2, .zero = 3}},
                            {"zero 1 on a pipeline", {.pp = 2, .dp = 2, .zero = 1}}});
  }
}

TEST(Sinks, OfWrittenScores) {
  for (const spec::Model& model : {tiny::sinks(), chunked(), latent()}) {
    expect_the_same(model, {{"one rank", {}, unfused(Kind::none)},
                            {"selective", {.tp = 2, .sp = true}, unfused(Kind::selective)},
                            {"full", {.tp = 2}, unfused(Kind::full)}});
  }
  expect_the_same(tiny::sinks(), {{"by operators", {.tp = 2, .sp = true}, unfused(Kind::selective_ops)}});
}

TEST(Sinks, OverRanksThatShareASequence) {
  expect_the_same(without_windows(), {{"ring", {}, context(2, CpKind::ring, false)},
                                      {"zigzag ring", {.tp = 2}, context(4, CpKind::ring, true)},
                                      {"ring at once", {}, both(context(2, CpKind::ring, true), tiny::at_once)}});
  for (const spec::Model& model : {tiny::sinks(), without_windows()}) {
    expect_the_same(model, {{"all-gather", {}, context(2, CpKind::all_gather, true)},
                            {"ulysses", {}, context(4, CpKind::ulysses, false)},
                            {"ulysses with tp", {.tp = 2}, context(2, CpKind::ulysses, true)}});
  }
}

}  // namespace
