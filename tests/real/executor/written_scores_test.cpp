// tests/real/executor/written_scores_test.cpp -- attention that writes its scores: losses, norms and gradients are
// those of one rank's fused attention to 1e-10, whatever the model is cut into. SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/cases.h"

namespace {

using spec::AttentionKernel;
using tiny::Case;
using tiny::recompute;
using tiny::two_sequences;
using Kind = spec::Recompute::Kind;

void expect_those_of_the_fused_kernel(const spec::Model& model, const std::vector<Case>& cases) {
  const tiny::Run fused = tiny::run(toy::resolved(tiny::draft(model, {})));
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + c.name);
    spec::Job j = tiny::draft(model, c.cut);
    j.strategy.attention_kernel = AttentionKernel::unfused;
    c.change(j);
    EXPECT_LT(tiny::difference(fused, tiny::run(toy::resolved(j))), 1e-10);
  }
}

void one_softmax_kernel(spec::Job& j) { j.strategy.attention_kernel = AttentionKernel::fused_softmax; }

TEST(WrittenScores, AreThoseOfTheFusedKernel) {
  const std::vector<Case> cases{{"one rank", {}},
                                {"one kernel of softmax", {}, one_softmax_kernel},
                                {"two sequences", {}, two_sequences},
                                {"tp", {.tp = 2}},
                                {"sequence parallel", {.tp = 2, .sp = true}},
                                {"a key head on two ranks", {.tp = 4, .sp = true}},
                                {"selective", {.tp = 2}, recompute(Kind::selective)},
                                {"by operators", {.tp = 2, .sp = true}, recompute(Kind::selective_ops)},
                                {"full", {}, recompute(Kind::full)},
                                {"zero 3", {.dp = 2, .zero = 3}},
                                {"pipeline", {.pp = 2}}};
  for (const spec::Model& model : {tiny::llama(), tiny::gpt(), tiny::qk_norm(), tiny::parallel(2)}) {
    expect_those_of_the_fused_kernel(model, cases);
  }
}

TEST(WrittenScores, OfLatentAttention) {
  for (const spec::Model& model : {tiny::latent(), tiny::latent(0)}) {
    expect_those_of_the_fused_kernel(model, {{"one rank", {}},
                                             {"two sequences", {.tp = 2, .sp = true}, two_sequences},
                                             {"selective", {}, recompute(Kind::selective)}});
  }
}

TEST(WrittenScores, UnderWindowsChunksAndWithoutAMask) {
  spec::Model window = tiny::llama(), chunks = tiny::llama(), all = tiny::gpt();
  window.name = "tiny window", window.window = 3;
  chunks.name = "tiny chunks", chunks.attention_chunk = 4;
  all.name = "tiny without a mask", all.causal = false;
  for (const spec::Model& model : {window, chunks, all}) {
    expect_those_of_the_fused_kernel(model, {{"one rank", {}}, {"two sequences", {.tp = 2}, two_sequences}});
  }
}

}  // namespace
