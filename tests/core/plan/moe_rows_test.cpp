// tests/core/plan/moe_rows_test.cpp -- layers of experts: how rows of tokens are copied, ordered and summed up. The toy
// is toy_moe.h's. SPDX-License-Identifier: Apache-2.0
#include "core/plan/moe_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "core/plan/block.h"
#include "core/plan/build.h"
#include "core/plan/moe_shape.h"
#include "tests/core/plan/toy_moe.h"
#include "tests/core/plan/walk.h"

namespace {

using namespace toy_moe;

/// Read, written and kernels of an operator of the first layer, rows of 256 numbers of 2 bytes.
std::vector<std::int64_t> rows_moved(const spec::Job& j, std::string_view name) {
  const plan::Plan p = plan::build(j);
  std::vector<std::int64_t> out;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    if (op.layer != 0 || p.names[op.name] != name || !out.empty()) return;
    const auto& work = std::get<plan::MemoryBound>(p.works[op.work]);
    out = {work.read / 512, work.written / 512, work.kernels};
  });
  return out;
}

TEST(MoeRows, PermutationByTheOperationWeighsAndAddsRowByRow) {
  // 128 tokens are 256 copies. Fused, each token or copy is read once, and once written what comes of it.
  using Rows = std::vector<std::int64_t>;
  spec::Job j = spread(4);
  EXPECT_EQ(rows_moved(j, "permute"), (Rows{128, 256, 1}));
  EXPECT_EQ(rows_moved(j, "unpermute"), (Rows{256, 128, 1}));
  EXPECT_EQ(rows_moved(j, "unpermute gradient"), (Rows{128, 256, 1}));
  EXPECT_EQ(rows_moved(j, "permute gradient"), (Rows{256, 128, 1}));
  // By the operation a token is read for each of its copies. At half a copy's pace: rows times shares (256 read and
  // written, twice), and added to zeros (256 and what they are added to read, 256 written, twice; 128 zeros). Backward:
  // copied out; times shares, and times rows for the shares' gradients, which are summed; then added to zeros again.
  j.strategy.fused_kernels.permute = false;
  EXPECT_EQ(rows_moved(j, "permute"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "unpermute"), (Rows{2 * 256 + 2 * 512, 2 * 256 + 2 * 256 + 128, 3}));
  EXPECT_EQ(rows_moved(j, "unpermute gradient"), (Rows{128 + 2 * 256 + 2 * 256 + 256, 256 + 2 * 256 + 256, 4}));
  EXPECT_EQ(rows_moved(j, "permute gradient"), (Rows{2 * 512, 2 * 256 + 128, 2}));
  // Where tokens are sent once, copies are made and summed where they arrive, 256 rows for 128 tokens again.
  j.strategy.moe_dispatcher = spec::MoeDispatcher::allgather;
  EXPECT_EQ(rows_moved(j, "permute"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "unpermute"), (Rows{2 * 256 + 2 * 512, 2 * 256 + 2 * 256 + 128, 3}));
  EXPECT_EQ(rows_moved(j, "permute gradient"), (Rows{2 * 512, 2 * 256 + 256, 2}));
}

TEST(MoeRows, PaddedRowsAreCopiedByIndexOnTheirWayToExpertsAndBack) {
  using Rows = std::vector<std::int64_t>;
  // 256 rows arrive. Joined with a row of zeros they are copied; what sorts them pads them. Back: zeros and a copy, the
  // index, and the gradient of an index, worth 13 rows of copies a row.
  spec::Job j = spread(4);
  j.framework.pads_experts = true;
  EXPECT_EQ(rows_moved(j, "pad rows"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "sort by expert"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "unsort by expert"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "unpad rows gradient"), (Rows{256, 512, 2}));
  EXPECT_EQ(rows_moved(j, "unsort by expert gradient"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "sort by expert gradient"), (Rows{6 * 256, 7 * 256, 3}));
  // Rows of one rank are in order already: the index only pads them.
  spec::Job alone = spread(1, 1, 1);
  alone.framework.pads_experts = true;
  EXPECT_EQ(rows_moved(alone, "pad rows"), (Rows{512, 512, 2}));
  EXPECT_EQ(rows_moved(alone, "unpad rows"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(alone, "unpad rows gradient"), (Rows{512, 768, 3}));
  EXPECT_EQ(rows_moved(alone, "pad rows gradient"), (Rows{6 * 256, 7 * 256, 3}));
}

TEST(MoeRows, TheGradientOfRowsTakenByIndexSortsTheIndices) {
  using Rows = std::vector<std::int64_t>;
  spec::Job j = spread(4);
  j.strategy.fused_kernels.permute = false;
  j.framework.rows_by_index = true;
  EXPECT_EQ(rows_moved(j, "permute"), (Rows{256, 256, 1}));
  EXPECT_EQ(rows_moved(j, "permute gradient"), (Rows{6 * 256, 7 * 256, 3}));
  EXPECT_EQ(rows_moved(j, "sort by expert gradient"), (Rows{6 * 256, 7 * 256, 3}));
  j.strategy.fused_kernels.permute = true;
  EXPECT_EQ(rows_moved(j, "permute gradient"), (Rows{256, 128, 1}));
  EXPECT_EQ(rows_moved(j, "sort by expert gradient"), (Rows{256, 256, 1}));
}

TEST(MoeRows, ResultsWeighedInFp32AreCastThereAndBackUnlessCompiled) {
  using Rows = std::vector<std::int64_t>;
  // Of 256 rows, 512 in fp32: cast (256 to 512), times shares (512 to 512), cast back; then sorted and added, 13 rows a
  // row. Backward: 128 tokens copied out to 256; cast; times shares; times rows (1,024 read, 512 written), which are
  // summed (512 read); cast back.
  spec::Job j = spread(4);
  j.strategy.fused_kernels.permute = false;
  j.framework.rows_by_index = j.framework.weighs_in_fp32 = true;
  EXPECT_EQ(rows_moved(j, "unpermute"), (Rows{256 + 512 + 512 + 6 * 256, 512 + 512 + 256 + 7 * 256, 6}));
  EXPECT_EQ(rows_moved(j, "unpermute gradient"),
            (Rows{128 + 256 + 512 + 1024 + 512 + 512, 256 + 512 + 512 + 512 + 256, 6}));
  // A compiler makes casts and products one kernel each way.
  j.strategy.compile = true;
  EXPECT_EQ(rows_moved(j, "unpermute"), (Rows{256 + 6 * 256, 256 + 7 * 256, 4}));
  EXPECT_EQ(rows_moved(j, "unpermute gradient"), (Rows{128 + 512, 256 + 256, 2}));
  j.framework.compiles_experts = false;
  EXPECT_EQ(rows_moved(j, "unpermute gradient"),
            (Rows{128 + 256 + 512 + 1024 + 512 + 512, 256 + 512 + 512 + 512 + 256, 6}));
  // So it does in 16 bits; fp32 needs no casts: times shares and added as any product is.
  j.framework.compiles_experts = true;
  j.framework.weighs_in_fp32 = false;
  EXPECT_EQ(rows_moved(j, "unpermute"), (Rows{256 + 6 * 256, 256 + 7 * 256, 4}));
  spec::Job wide = spread(4);
  wide.strategy.fused_kernels.permute = false;
  wide.training.precision = spec::Dtype::fp32;
  const Rows unpermuted = rows_moved(wide, "unpermute");
  wide.framework.weighs_in_fp32 = true;
  EXPECT_EQ(rows_moved(wide, "unpermute"), unpermuted);
  // Another dispatcher's own kernels weigh in 16 bits, and add by atomics.
  j.strategy.moe_dispatcher = spec::MoeDispatcher::deepep;
  EXPECT_EQ(rows_moved(j, "unpermute")[0], 2 * 256 + 2 * 512);
}

TEST(MoeRows, WhatAProductInFp32ReadStaysInFp32) {
  // 256 copies of 256 numbers: 4 bytes each instead of 2.
  spec::Job j = spread(4);
  j.strategy.fused_kernels.permute = false;
  const std::int64_t narrow = plan::moe_activations(plan::Context(j)).returned;
  j.framework.weighs_in_fp32 = true;
  EXPECT_EQ(narrow, 256 * 256 * 2);  // and by the backward of selective_ops it is cast once more
  EXPECT_EQ(rows_moved(j, "results widened"), std::vector<std::int64_t>());
  j.strategy.recompute.kind = spec::Recompute::Kind::selective_ops;
  EXPECT_EQ(rows_moved(j, "results widened"), (std::vector<std::int64_t>{256, 512, 1}));
  EXPECT_EQ(plan::moe_activations(plan::Context(j)).returned, 256 * 256 * 4);
  j.strategy.compile = true;
  EXPECT_EQ(plan::moe_activations(plan::Context(j)).returned, narrow);
}

TEST(MoeRows, ThreeFp32TensorsOfRowsLiveInTheGradientOfAWeighing) {
  // 256 copies of 256 numbers: 12 bytes each, where experts of 32 numbers need 256 x (32 + 256) x 2 and what is sent 2.
  const auto most = [](bool wide) {
    spec::Job j = spread(1, 1, 1);
    j.model.moe->ffn = 32;
    j.strategy.fused_kernels.permute = false;
    j.framework.weighs_in_fp32 = wide;
    walk::Pen pen;
    pen.out.layer = 0;
    plan::Block(plan::Context(j), pen.out).backward(spec::Recompute::Kind::none, false);
    std::int64_t now = 0, out = 0;
    for (const plan::MemoryChange& change : pen.out.finish().memory) {
      if (change.category == plan::Category::workspace) out = std::max(out, now += change.bytes);
    }
    return out;
  };
  EXPECT_EQ(most(true) - most(false), 256 * (256 * (12 - 2) - (32 + 256) * 2));
}

}  // namespace
