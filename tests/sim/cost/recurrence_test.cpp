// tests/sim/cost/recurrence_test.cpp -- the formula's terms by hand, then measured kernels.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/recurrence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "tests/sim/cost/toy_device.h"

namespace {

using Kind = spec::Recurrent::Kind;

plan::Recurrence delta(int batch, int length, int heads, bool backward) {
  return {.kind = Kind::gated_delta,
          .batch = batch,
          .length = length,
          .heads = heads,
          .head_dim = 128,
          .groups = heads,
          .state = 128,
          .chunk = 64,
          .backward = backward};
}

TEST(Recurrence, BytesAreThoseOfEachKernelsTensors) {
  // A token and head: a vector of 128 in bf16 is 256 bytes, a row of the chunk's triangle 128, its share of the states
  // 128 x 128 / 64 x 2 = 512. Products 256 + 2 x 128 and 3 x 128; through the triangle 4 x 256 + 128; states 4 x 256 +
  // 512; output 4 x 256 + 512.
  EXPECT_DOUBLE_EQ(sim::scan_bytes(delta(1, 64, 1, false)), 64.0 * (512 + 384 + 1152 + 1536 + 1536));
}

TEST(Recurrence, TimeIsKernelsAndChunksInTurnAndBytes) {
  sim::Device d = toy_device();
  d.calibration.recurrence[1] = {.forward = 0.5,
                                 .backward = 0.25,
                                 .chunk = base::us(2),
                                 .backward_chunk = base::us(5),
                                 .overhead = base::us(3),
                                 .from = {}};
  // 6 kernels, 2 chunks of a sequence whatever the batch, 2 x 128 tokens of 5,120 bytes at 0.5 TB/s.
  EXPECT_NEAR(sim::price(delta(2, 128, 1, false), d).time.si() * 1e6, 6 * 3 + 2 * 2 + 2 * 128 * 5120 / 0.5e6, 1e-6);
  const plan::Recurrence back = delta(2, 128, 1, true);
  EXPECT_NEAR(sim::price(back, d).time.si() * 1e6, 9 * 3 + 2 * 5 + sim::scan_bytes(back) / 0.25e6, 1e-6);
}

TEST(Recurrence, MoreOfAnythingIsNeverFaster) {
  for (const Kind kind : {Kind::mamba2, Kind::gated_delta}) {
    plan::Recurrence w = delta(2, 1024, 8, false);
    w.kind = kind;
    const auto time = [&](auto change) {
      plan::Recurrence more = w;
      change(more);
      return sim::price(more, toy_device()).time.si();
    };
    const double least = time([](plan::Recurrence&) {});
    EXPECT_GT(time([](plan::Recurrence& m) { m.length *= 2; }), least);
    EXPECT_GT(time([](plan::Recurrence& m) { m.heads *= 2; }), least);
    EXPECT_GT(time([](plan::Recurrence& m) { m.state *= 2; }), least);
    EXPECT_GT(time([](plan::Recurrence& m) { m.backward = true; }), least);
  }
}

/// ms on the board of a node of the catalogue.
double ms_on(const std::string& node_name, const plan::Recurrence& w) {
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  config::Faults faults;
  const spec::Node node = catalogue.node(config::parse(node_name, "node"), "node", faults);
  EXPECT_TRUE(faults.empty());
  return sim::price(w, {node.gpu, node.calibration}).time.si() * 1e3;
}

TEST(Recurrence, MeasuredPassesOfTheDeltaRuleAreMet) {
  // flash-linear-attention's kernels: NVIDIA/cudnn-frontend benchmark/linear_attention/results/gdn (GB200), QwenLM/
  // FlashQLA benchmark/benchmark_results_H200.txt.
  EXPECT_NEAR(ms_on("gb200-nvl72", delta(4, 8192, 64, false)) / 3.089, 1, 0.1);
  EXPECT_NEAR(ms_on("gb200-nvl72", delta(4, 8192, 64, true)) / 9.654, 1, 0.1);
  EXPECT_NEAR(ms_on("gb200-nvl72", delta(1, 32768, 16, true)) / 3.877, 1, 0.12);
  EXPECT_NEAR(ms_on("dgx-h200", delta(1, 32768, 64, false)) / 3.898, 1, 0.15);
  EXPECT_NEAR(ms_on("dgx-h200", delta(1, 32768, 16, false)) / 1.469, 1, 0.15);
}

TEST(Recurrence, MeasuredPassesOfMamba2AreMet) {
  // state-spaces/mamba's kernels on H200: tile-ai/TileOPs.github.io benchmarks/linear-attention.
  plan::Recurrence w{.kind = Kind::mamba2,
                     .batch = 1,
                     .length = 8192,
                     .heads = 64,
                     .head_dim = 64,
                     .groups = 1,
                     .state = 128,
                     .chunk = 256};
  EXPECT_NEAR(ms_on("dgx-h200", w) / 0.313, 1, 0.1);
}

}  // namespace
