// tests/core/plan/attention_reach_test.cpp -- layers that see all tokens among those that see a window or their chunk.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "core/plan/flops.h"
#include "core/plan/serving.h"
#include "tests/core/plan/walk.h"

namespace {

spec::Model chunked(std::int64_t chunk, int full_every) {
  spec::Model m = toy::model();
  m.attention_chunk = chunk;
  m.full_every = full_every;
  return m;
}

/// Of one head and one sequence, by asking every query about every key. A query's own key counts half, as the diagonal
/// of the square that formulas halve.
double pairs_one_by_one(const spec::Model& m, int layer, std::int64_t sequence) {
  double pairs = 0;
  const std::int64_t chunk = m.chunk_of(layer);
  for (std::int64_t q = 0; q < sequence; ++q) {
    for (std::int64_t k = 0; k <= q; ++k) {
      if (chunk > 0 && q / chunk != k / chunk) continue;
      pairs += k == q ? 0.5 : 1;
    }
  }
  return pairs;
}

TEST(AttentionReach, FullLayersAreEveryNthFromTheEndOfEachGroup) {
  spec::Model m = toy::model();
  m.window = 32;
  m.full_every = 3;
  std::vector<std::int64_t> seen;
  for (int layer = 0; layer < 7; ++layer) seen.push_back(m.window_of(layer));
  EXPECT_EQ(seen, (std::vector<std::int64_t>{32, 32, 0, 32, 32, 0, 32}));
  m.full_every = 0;
  m.window_every = 2;  // counts from the first layer
  for (int layer = 0; layer < 4; ++layer) EXPECT_EQ(m.window_of(layer), layer % 2 == 0 ? 32 : 0);
}

TEST(AttentionReach, FlopsAreThoseOfEveryPairThatTheMasksLeave) {
  walk::Dice dice(1);
  for (int i = 0; i < 200; ++i) {
    spec::Model m = chunked(dice.from(1, 150), dice.from(0, 4));
    m.layers = dice.from(1, 9);
    const std::int64_t sequence = dice.from(1, 128);
    double pairs = 0;
    for (int layer = 0; layer < m.layers; ++layer) pairs += pairs_one_by_one(m, layer, sequence);
    // Scores and values of a pair are 2 FLOP each in 256 lanes.
    EXPECT_NEAR(m.layers * plan::forward_flops(m, sequence).attention, 2 * 2 * 256 * pairs, 1e-6 * pairs)
        << m.attention_chunk << ' ' << m.full_every << ' ' << m.layers << ' ' << sequence;
  }
}

TEST(AttentionReach, FiveOfThirtyFourLayersOfGemma3SeeEverything) {
  // 34 layers, of which 5 see all: window 32 of 128 leaves 3584 of 8192 pairs (flops_test).
  spec::Model m = toy::model();
  m.layers = 34;
  const double full = plan::forward_flops(m, 128).attention;
  m.window = 32;
  m.full_every = 6;
  EXPECT_DOUBLE_EQ(plan::forward_flops(m, 128).attention, full * (29 * 3584.0 / 8192 + 5) / 34);
}

TEST(AttentionReach, EachLayerOfAPlanHasItsKernelAndItsRotaryEmbedding) {
  for (const bool chunks : {false, true}) {
    const spec::Job j = toy::job({}, [&](spec::Job& job) {
      (chunks ? job.model.attention_chunk : job.model.window) = 32;
      job.model.full_every = 4;
      job.model.nope_every = 2;
      job.model.position = spec::Position::rope;
    });
    const plan::Plan p = plan::build(j);
    int kernels = 0, turned = 0;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      if (p.names[op.name].starts_with("rotary embedding")) {
        EXPECT_EQ(op.layer % 2, 0);
        ++turned;
      }
      const auto* work = std::get_if<plan::Attention>(&p.works[op.work]);
      if (!work) return;
      ++kernels;
      EXPECT_EQ(work->window, !chunks && op.layer != 3 ? 32 : 0);
      EXPECT_EQ(work->document, chunks && op.layer != 3 ? 32 : 0);
    });
    EXPECT_EQ(kernels, 2 * 4);
    EXPECT_EQ(turned, 2 * 2);
  }
}

TEST(AttentionReach, KernelsOfChunksCountWhatTheFormulaCounts) {
  // 48 divides neither 128 nor 64: pieces of 48, 48, 32 stand for (2 x 48^2 + 32^2) / 128 = 44 tokens each.
  const spec::Job j = toy::job({}, [](spec::Job& job) { job.model.attention_chunk = 48; });
  double forward = 0;
  const plan::Plan p = plan::build(j);
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const auto* work = std::get_if<plan::Attention>(&p.works[op.work]);
    if (work && !work->backward) forward += plan::hardware_flops(*work);
  });
  EXPECT_DOUBLE_EQ(forward, 4 * plan::forward_flops(j.model, 128).attention);
}

TEST(AttentionReach, ChunksCutDocumentsToo) {
  spec::Training t;
  t.sequence = 128;
  EXPECT_EQ(spec::chunk_length(t, 0), 0);
  EXPECT_EQ(spec::chunk_length(t, 128), 0);
  EXPECT_EQ(spec::chunk_length(t, 64), 64);
  EXPECT_EQ(spec::chunk_length(t, 48), 44);
  t.packing = spec::Packing{{}, 64, 0};
  EXPECT_EQ(spec::chunk_length(t, 64), 64);
  EXPECT_EQ(spec::chunk_length(t, 48), 40);  // (48^2 + 16^2) / 64
}

TEST(AttentionReach, RanksOfUlyssesShareTheHeadsOfEveryChunk) {
  const auto attention = [](int cp) {
    const spec::Job j = toy::job({}, [&](spec::Job& job) {
      job.model.attention_chunk = 32;
      job.model.full_every = 2;
      job.strategy.cp = cp;
      job.strategy.cp_kind = spec::CpKind::ulysses;
      job.cluster = toy::cluster(cp);
    });
    double sum = 0;
    const plan::Plan p = plan::build(j);
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      if (std::holds_alternative<plan::Attention>(p.works[op.work])) sum += plan::hardware_flops(p.works[op.work]);
    });
    return sum;
  };
  EXPECT_DOUBLE_EQ(4 * attention(4), attention(1));
}

TEST(AttentionReach, ATokenSeesHalfAChunkOnAverageAndCachesAWholeOne) {
  const spec::Model m = chunked(64, 4);
  EXPECT_EQ(plan::seen_by_one(m, true, 64), 64);    // still in the first chunk
  EXPECT_EQ(plan::seen_by_one(m, true, 1000), 32);  // anywhere in a later one
  EXPECT_EQ(plan::seen_by_one(m, false, 1000), 1000);
  const spec::Job j = toy::job({}, [&](spec::Job& job) {
    job.model = m;
    job.training.mode = spec::Mode::decode;
    job.training.output_tokens = 100;
  });
  // Three layers cache 64 tokens and one all 228: keys and values of 256 numbers of 2 bytes.
  EXPECT_EQ(plan::build(j).roles[0].resident[static_cast<int>(plan::Category::kv_cache)], (3 * 64 + 228) * 2 * 256 * 2);
}

}  // namespace
