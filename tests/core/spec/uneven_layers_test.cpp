// tests/core/spec/uneven_layers_test.cpp -- cuts of layers that do not divide, against every cut there is.
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/layer_cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace spec {
namespace {

using Layers = std::vector<int>;

/// A layer of 4 x 1024^2 + 2 x 1024 x 4096 = 12.6e6 weights, and a head of `head` layers' worth.
Model model(int layers, double head = 0) {
  Model out;
  out.layers = layers;
  out.hidden = 1024;
  out.heads = out.kv_heads = 16;
  out.head_dim = 64;
  out.ffn = 4096;
  out.vocab = static_cast<std::int64_t>(head * 12 * 1024);
  return out;
}

Strategy stages(int pp, int vpp = 1) {
  Strategy out;
  out.pp = pp;
  out.vpp = vpp;
  if (vpp > 1) out.schedule = Schedule::interleaved;
  return out;
}

/// What the busiest stage does, in layers, in the best of all cuts with a layer or more on each stage but the ends.
double least_of_all(int layers, int pp, double head) {
  double best = layers + head;
  const std::function<void(int, int, double)> cut = [&](int stage, int left, double most) {
    if (stage + 1 == pp) {
      best = std::min(best, std::max(most, left + head));
      return;
    }
    for (int take = stage == 0 ? 0 : 1; take <= left; ++take) {
      cut(stage + 1, left - take, std::max<double>(most, take));
    }
  };
  cut(0, layers, 0);
  return best;
}

TEST(UnevenLayers, ByWorkTheBusiestStageDoesAsLittleAsInAnyCut) {
  for (const double head : {0.0, 0.5, 1.2, 3.5}) {
    for (const int pp : {2, 3, 4, 5}) {
      for (int layers = pp + 1; layers < 18; ++layers) {
        Layers cut = uneven_layers(model(layers, head), stages(pp), LayerCut::by_work);
        if (cut.empty()) cut.assign(static_cast<std::size_t>(pp), layers / pp);  // the even cut is the best
        ASSERT_EQ(std::accumulate(cut.begin(), cut.end(), 0), layers);
        const double most = std::max<double>(*std::max_element(cut.begin(), cut.end() - 1), cut.back() + head);
        EXPECT_NEAR(most, least_of_all(layers, pp, head), 1e-3) << layers << " layers, " << pp << " stages, " << head;
      }
    }
  }
}

TEST(UnevenLayers, FirstStagesHaveFewerWhereNothingElseDecides) {
  EXPECT_EQ(uneven_layers(model(13), stages(4), LayerCut::by_work), (Layers{3, 3, 3, 4}));
  EXPECT_EQ(uneven_layers(model(13, 1.2), stages(4), LayerCut::by_work), (Layers{3, 4, 4, 2}));  // 2 + 1.2 below 4
  EXPECT_EQ(uneven_layers(model(13, 1.2), stages(4), LayerCut::light_front), (Layers{3, 3, 3, 4}));
}

TEST(UnevenLayers, DenseLayersAmongExpertsCountByTheirWeights) {
  // 8 experts of a dense layer's width, of which a token meets 2: a layer with them weighs 4 + 2 x 8 against 4 + 8
  // (times 1024^2). The first two of 5 are dense: 12, 12, 20, 20, 20 over two stages are best cut 44 and 40.
  Model experts = model(5);
  experts.moe = Moe{.experts = 8, .top_k = 2, .ffn = 4096, .first_dense = 2};
  EXPECT_EQ(uneven_layers(experts, stages(2), LayerCut::by_work), (Layers{3, 2}));
}

TEST(UnevenLayers, ChunksOfAStageAreCountedTogether) {
  // 13 layers over 2 stages of 2 chunks: 16 less 3; stage 0, the chunks 0 and 2, gives two, stage 1 one.
  EXPECT_EQ(uneven_layers(model(13), stages(2, 2), LayerCut::by_work), (Layers{3, 4, 3, 3}));
}

TEST(UnevenLayers, AMiddleChunkKeepsALayer) {
  EXPECT_TRUE(uneven_layers(model(3), stages(4), LayerCut::by_work).empty());
  for (const int layers : {5, 6, 7, 9}) {
    const Layers cut = uneven_layers(model(layers, 9), stages(4), LayerCut::by_work);
    ASSERT_EQ(cut.size(), 4u) << layers;
    EXPECT_TRUE(cut[1] > 0 && cut[2] > 0) << layers;
  }
}

/// Stages of unequal pace: the time of the slowest one, against every cut.
TEST(UnevenLayers, FasterStagesHaveMoreOfThem) {
  // 40 layers at paces 3, 3, 1, 1 without a head: 15, 15, 5, 5 take 5 each.
  EXPECT_EQ(uneven_layers(model(40), stages(4), LayerCut::by_work, {3, 3, 1, 1}), (Layers{15, 15, 5, 5}));
  EXPECT_EQ(uneven_layers(model(8), stages(2), LayerCut::by_work, {1, 3}), (Layers{2, 6}));
  for (const int layers : {5, 8, 13, 17}) {
    for (const std::vector<double>& paces :
         {std::vector<double>{1, 2.5}, {3, 1}, {2, 2, 1}, {1, 3, 1}, {3.2, 3.2, 1, 1}}) {
      const auto pp = static_cast<int>(paces.size());
      Layers cut = uneven_layers(model(layers), stages(pp), LayerCut::by_work, paces);
      if (cut.empty()) cut.assign(paces.size(), layers / pp);
      double best = layers, slowest = 0;
      const std::function<void(int, int, double)> all = [&](int stage, int left, double most) {
        if (stage == pp) {
          if (left == 0) best = std::min(best, most);
          return;
        }
        for (int take = stage == 0 || stage + 1 == pp ? 0 : 1; take <= left; ++take)
          all(stage + 1, left - take, std::max(most, take / paces[stage]));
      };
      all(0, layers, 0);
      for (int stage = 0; stage < pp; ++stage) slowest = std::max(slowest, cut[stage] / paces[stage]);
      EXPECT_NEAR(slowest, best, 1e-9) << layers << " layers on " << pp;
    }
  }
}

TEST(UnevenLayers, LayersOfDifferentWorkAreCutInTheEnd) {
  // Each move shifts what lies between the two stages: without an end to it, 88 such layers went round for ever.
  Model hybrid = model(88, 3);
  hybrid.recurrent = Recurrent{.heads = 32, .head_dim = 64, .groups = 8, .state = 64, .chunk = 128};
  hybrid.moe = Moe{.experts = 64, .top_k = 2, .ffn = 4096};
  hybrid.pattern = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME";
  for (int pp = 2; pp <= 32; ++pp) {
    for (const int vpp : {1, 2, 3}) {
      if (pp * vpp > 88) continue;
      const Layers cut = uneven_layers(hybrid, stages(pp, vpp), LayerCut::by_work);
      EXPECT_TRUE(cut.empty() || std::accumulate(cut.begin(), cut.end(), 0) == 88) << pp << ' ' << vpp;
    }
  }
}

}  // namespace
}  // namespace spec
