// tests/sim/cost/index_scores_test.cpp -- the formulas of sparse attention and its indexer by hand, then measured
// kernels. SPDX-License-Identifier: Apache-2.0
#include "sim/cost/index_scores.h"

#include <gtest/gtest.h>

#include <string>

#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "sim/cost/attention.h"
#include "tests/sim/cost/toy_device.h"

namespace {

plan::Attention sparse(std::int64_t tokens, int heads, int width, std::int64_t keys, bool backward) {
  return {.kernel = spec::AttentionKernel::sparse,
          .batch = 1,
          .q_len = tokens,
          .kv_len = tokens,
          .heads = heads,
          .kv_heads = 1,
          .head_dim = width,
          .causal = false,  // as measured: every query has all of its keys
          .window = keys,
          .backward = backward,
          .value_head_dim = 512,
          .values_in_keys = true};
}

/// On the board of a node of the catalogue at the clock of short runs.
sim::Device device_of(const std::string& node_name) {
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  config::Faults faults;
  const spec::Node node = catalogue.node(config::parse(node_name, "node"), "node", faults);
  EXPECT_TRUE(faults.empty());
  sim::Device device{node.gpu, node.calibration};
  device.calibration.power = {};
  return device;
}
double ms_on(const std::string& node, const plan::Attention& w) {
  return sim::price(w, device_of(node)).time.si() * 1e3;
}

TEST(SparseAttentionPrice, MeasuredPassesAreMet) {
  // NVIDIA/cudnn-frontend benchmark/dsa/results, September 2026: GLM-5.3 (64 heads, 2,048 keys of 576 numbers) and
  // DeepSeek-V4 (640 keys of 512).
  EXPECT_NEAR(ms_on("gb200-nvl72", sparse(8192, 64, 576, 2048, false)) / 2.264, 1, 0.05);
  EXPECT_NEAR(ms_on("gb200-nvl72", sparse(8192, 64, 576, 2048, true)) / 8.783, 1, 0.05);
  EXPECT_NEAR(ms_on("gb300-nvl72", sparse(32768, 64, 576, 2048, false)) / 8.442, 1, 0.05);
  EXPECT_NEAR(ms_on("dgx-b200", sparse(4096, 64, 512, 640, false)) / 0.478, 1, 0.1);
  EXPECT_NEAR(ms_on("dgx-b200", sparse(4096, 64, 512, 640, true)) / 1.635, 1, 0.1);
  EXPECT_NEAR(ms_on("dgx-h200", sparse(4096, 64, 576, 2048, true)) / 7.992, 1, 0.05);
  EXPECT_NEAR(ms_on("dgx-h200", sparse(4096, 64, 512, 640, true)) / 2.664, 1, 0.1);
}

TEST(SparseAttentionPrice, RowsBeyondTheL2ComeFromMemory) {
  // H200: 32,768 keys of 576 numbers with fp32 gradients are 113 MB, its L2 63 MB. Measured 100.8 ms, where 8,192
  // tokens take 15.9 ms: 1.59 times as long a token.
  const double few = ms_on("dgx-h200", sparse(8192, 64, 576, 2048, true));
  const double many = ms_on("dgx-h200", sparse(32768, 64, 576, 2048, true));
  EXPECT_NEAR(many / (4 * few) / 1.59, 1, 0.15);
  EXPECT_NEAR(ms_on("dgx-h200", sparse(16384, 64, 576, 2048, true)) / (2 * few), 1, 1e-3);  // 57 MB fit
}

TEST(IndexScoresPrice, AllKeysAtTheirOwnPaceAndChosenOnesAtThatOfSparseAttention) {
  sim::Device d = toy_device();
  auto& curve = d.calibration.attention[static_cast<std::size_t>(spec::AttentionKernel::sparse)];
  curve.forward = 0.5;
  curve.backward = 0.25;
  curve.index = 0.4;
  curve.overhead = base::us(2);
  const plan::IndexScores all{.batch = 1, .q_len = 4096, .kv_len = 4096, .heads = 64, .head_dim = 128};
  const double peak = d.gpu.peak_of(spec::Dtype::bf16).si();
  // 2 x 64 x 128 FLOPs for each of 4,096 x 4,096 / 2 pairs.
  const double flops = 2.0 * 64 * 128 * 4096 * 2048;
  EXPECT_NEAR(sim::price(all, d).time.si(), 2e-6 + flops / (0.4 * peak), 1e-9);
  plan::IndexScores chosen = all;
  chosen.chosen = 1024;  // 1,024 x 4,096 less the triangle of 1,024 x 1,024 / 2
  const double pairs = 1024 * 4096 - 1024 * 512;
  EXPECT_NEAR(sim::price(chosen, d).time.si(), 2e-6 + 2.0 * 64 * 128 * pairs / (0.5 * peak), 1e-9);
  chosen.backward = true;
  EXPECT_NEAR(sim::price(chosen, d).time.si(), 4e-6 + 3 * 2.0 * 64 * 128 * pairs / (0.25 * peak), 1e-9);
}

TEST(IndexScoresPrice, MeasuredScoresAreMet) {
  // B200, 64 heads of 128, 8,192 queries of 4,096 keys under a mask that leaves half: 298.4 us (NVIDIA/cudnn-frontend
  // pull request 416).
  const plan::IndexScores w{.batch = 1, .q_len = 8192, .kv_len = 2048, .heads = 64, .head_dim = 128, .causal = false};
  EXPECT_NEAR(sim::price(w, device_of("dgx-b200")).time.si() * 1e6 / 298.4, 1, 0.05);
}

}  // namespace
