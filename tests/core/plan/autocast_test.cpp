// tests/core/plan/autocast_test.cpp -- training under torch.autocast: what is cast, what is in fp32, what is kept.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/autocast.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <variant>

#include "core/plan/block.h"
#include "core/plan/tensor_parallel.h"
#include "tests/core/plan/walk.h"

namespace {

using Kind = spec::Recompute::Kind;

/// The toy's GPT in plain PyTorch: a norm is one kernel, sums of weight gradients are kernels of their own.
template <class Change>
spec::Job eager(bool autocast, Change change) {
  return toy::job({}, [&](spec::Job& j) {
    j.model.norm = spec::Norm::layernorm;
    j.model.gated_mlp = false;
    j.training.autocast = autocast;
    j.training.gradient_dtype = spec::Dtype::fp32;
    j.framework.keeps_casts = false;
    j.strategy.fused_kernels.grad_accumulation = false;
    change(j);
  });
}
spec::Job eager(bool autocast) {
  return eager(autocast, [](spec::Job&) {});
}

struct Moved {
  std::int64_t read = 0, written = 0;
  int launches = 0;
};

/// What the memory-bound operators of one block move, by name.
std::map<std::string, Moved> of_a_block(const spec::Job& job, bool backward, Kind kind = Kind::none) {
  const plan::Context c(job);
  walk::Pen pen;
  plan::Block block(c, pen.out);
  backward ? block.backward(kind, false) : block.forward(kind, false);
  std::map<std::string, Moved> out;
  for (const plan::Operator& op : pen.out.finish().operators) {
    const auto* work = std::get_if<plan::MemoryBound>(&pen.work(op));
    if (!work) continue;
    Moved& sum = out[pen.name(op)];
    sum.read += work->read;
    sum.written += work->written;
    sum.launches += op.launches;
  }
  return out;
}

// 128 tokens of 256 numbers; feed-forward of 1,024.
constexpr std::int64_t kStream = 128 * 256;

TEST(Autocast, CastsEachWeightInEachPassAndWhatLinearLayersRead) {
  const auto forward = of_a_block(eager(true), false);
  // From fp32 to 16 bits: 4 bytes read, 2 written.
  EXPECT_EQ(forward.at("feed-forward up weight cast").read, 4 * 256 * 1024);
  EXPECT_EQ(forward.at("feed-forward up weight cast").written, 2 * 256 * 1024);
  EXPECT_EQ(forward.at("feed-forward down weight cast").read, 4 * 256 * 1024);
  EXPECT_EQ(forward.at("qkv input cast").read, 4 * kStream);
  EXPECT_EQ(forward.at("qkv input cast").written, 2 * kStream);
  EXPECT_EQ(forward.count("feed-forward down input cast"), 0U);  // the activation is in 16 bits
  EXPECT_EQ(of_a_block(eager(false), false).count("qkv input cast"), 0U);
  // A recomputed block casts again.
  EXPECT_EQ(of_a_block(eager(true), true, Kind::full).at("qkv weight cast").read, forward.at("qkv weight cast").read);
  EXPECT_EQ(of_a_block(eager(true), true).count("qkv weight cast"), 0U);
}

TEST(Autocast, NormsAndResidualsAreInFp32) {
  const auto forward = of_a_block(eager(true), false), backward = of_a_block(eager(true), true);
  EXPECT_EQ(forward.at("attention norm").read, 4 * kStream);
  EXPECT_EQ(forward.at("attention norm").written, 4 * kStream);
  // Two of them: the stream in fp32 and the branch in 16 bits make a stream in fp32.
  EXPECT_EQ(forward.at("residual add").read, 2 * (4 + 2) * kStream);
  EXPECT_EQ(forward.at("residual add").written, 2 * 4 * kStream);
  // Both gradients in fp32 make one; the branch's is cast to 16 bits.
  EXPECT_EQ(backward.at("residual gradient").read, 2 * (4 + 4 + 4) * kStream);
  EXPECT_EQ(backward.at("residual gradient").written, 2 * (4 + 2) * kStream);
  EXPECT_EQ(backward.at("qkv input gradient cast").read, 2 * kStream);
  EXPECT_EQ(backward.at("qkv input gradient cast").written, 4 * kStream);
}

TEST(Autocast, ACompilerJoinsCastsOfActivationsWithTheirNeighbours) {
  const auto compiled = [](spec::Job& j) { j.strategy.compile = true; };
  const auto forward = of_a_block(eager(true, compiled), false), backward = of_a_block(eager(true, compiled), true);
  EXPECT_EQ(forward.count("qkv input cast"), 0U);
  EXPECT_EQ(forward.at("attention norm").read, 4 * kStream);
  EXPECT_EQ(forward.at("attention norm").written, 2 * kStream);
  EXPECT_EQ(backward.count("qkv input gradient cast"), 0U);
  EXPECT_GT(forward.at("qkv weight cast").launches, 0);
}

TEST(Autocast, LinearsApartCastTheirInputEach) {
  const auto apart = [](spec::Job& j) { j.framework.separate_linears = true; };
  const spec::Job together = eager(true), separate = eager(true, apart);
  EXPECT_EQ(of_a_block(separate, false).at("qkv input cast").read, 3 * 4 * kStream);
  EXPECT_EQ(of_a_block(separate, true).at("qkv input gradient cast").written, 3 * 4 * kStream);
  const auto inputs = [](const spec::Job& j) {
    return plan::kept_activations(plan::Context(j), Kind::none, false).linear_inputs;
  };
  EXPECT_EQ(inputs(together), 2 * 2 * kStream);        // of qkv and of the feed-forward, in 16 bits
  EXPECT_EQ(inputs(separate), (3 + 1) * 2 * kStream);  // of q, k and v each
}

TEST(Autocast, GradientsOfWeightsAreCastAndThenAddedButForTheFirst) {
  const auto sums = [](int microbatches) {
    const spec::Job job = eager(true, [&](spec::Job& j) { j.training.global_batch = microbatches; });
    const plan::Context c(job);
    EXPECT_EQ(c.microbatches, microbatches);
    return plan::accumulate_gradient(c, 1000);
  };
  // One: 2 bytes read, 4 written. Of four, three read the sum and the cast gradient and write the sum: 3/4 of 8 and 4.
  EXPECT_EQ(sums(1).work.read, 2 * 1000);
  EXPECT_EQ(sums(1).work.written, 4 * 1000);
  EXPECT_EQ(sums(4).work.read, (2 + 6) * 1000);
  EXPECT_EQ(sums(4).work.written, (4 + 3) * 1000);
}

TEST(Autocast, HoldsGradientsInFp32Alone) {
  const auto gradients = [](bool autocast) {
    const plan::Plan p = plan::build(eager(autocast));
    return p.roles[0].resident[static_cast<int>(plan::Category::gradients)];
  };
  // Otherwise 2 bytes beside the 4 of the sum: 3/2.
  EXPECT_EQ(gradients(false) * 2, gradients(true) * 3);
}

TEST(Autocast, KeepsNormsInputsInFp32AndAWholeBlocksWhereItIsRecomputed) {
  const auto norms = [](const spec::Job& j, Kind kind) {
    return plan::kept_activations(plan::Context(j), kind, false).norm_inputs;
  };
  EXPECT_EQ(norms(eager(true), Kind::none), 2 * 4 * kStream);
  EXPECT_EQ(norms(eager(false), Kind::none), 2 * 2 * kStream);
  EXPECT_EQ(norms(eager(true), Kind::full), 4 * kStream);
  const auto by_the_operation = [](spec::Job& j) {
    j.model.norm = spec::Norm::rmsnorm;
    j.strategy.fused_kernels.norm = false;
  };
  EXPECT_EQ(norms(eager(true, by_the_operation), Kind::none), 2 * 8 * kStream);  // and the normed tensor, in fp32
}

}  // namespace
