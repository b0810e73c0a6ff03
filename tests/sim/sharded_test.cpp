// tests/sim/sharded_test.cpp -- sharded parameters in the answer: what is exposed, and along which axis.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sim/predict.h"
#include "tests/support/toy.h"

namespace {

spec::Job job(int prefetch, int dp = 8) {
  return toy::job({.dp = dp, .zero = 3, .micro_batch = 8}, [&](spec::Job& j) {
    j.model.layers = 12;
    j.strategy.fsdp_given = true;
    j.strategy.fsdp.prefetch = prefetch;
    j.strategy.overlap.grad_reduce = j.strategy.overlap.param_gather = true;
  });
}

double exposed(const result::Prediction& p) {
  for (const auto& [name, seconds] : p.breakdown_s) {
    if (name == "exposed_dp") return seconds;
  }
  return -1;
}

/// Time of the gathers of blocks on the first rank.
double gathers(const trace::Trace& trace) {
  double sum = 0;
  for (const trace::Track& track : trace.tracks) {
    if (track.rank != 0 || track.stream != "gather") continue;
    for (const trace::Span& span : track.spans) {
      if (span.layer >= 0) sum += trace::seconds(span.end - span.start);
    }
  }
  return sum;
}

TEST(ShardedParameters, AreExposedWholeWhenNothingIsGatheredAhead) {
  // 12 blocks forward and 11 backward (the last one stays), each behind the compute before it.
  const sim::Outcome out = sim::predict(job(0));
  EXPECT_GT(gathers(out.trace), 0);
  EXPECT_GE(exposed(out.prediction), gathers(out.trace) * (1 - 1e-9));
}

TEST(ShardedParameters, HideBehindComputeWhenGatheredAhead) {
  EXPECT_LT(exposed(sim::predict(job(1)).prediction), exposed(sim::predict(job(0)).prediction));
  EXPECT_LT(sim::predict(job(1)).trace.length, sim::predict(job(0)).trace.length);
}

TEST(ShardedParameters, OfAHybridAreToldAlongTheirAxes) {
  spec::Job hybrid = job(1, 16);
  hybrid.strategy.shard = 8;
  std::map<std::string, std::int64_t> bytes;
  for (const result::Communication& c : sim::predict(hybrid).prediction.communication) bytes[c.axis] = c.bytes;
  EXPECT_EQ(bytes.count("dp"), 0u);
  EXPECT_GT(bytes["shard"], 0);
  EXPECT_GT(bytes["replicate"], 0);
}

TEST(ShardedParameters, OfAHybridSendLessThroughEachNic) {
  // Gradients fp32 (4 P), parameters bf16 (2 P), 2 nodes of 8 ranks. One group of 16: a ring enters and leaves a node
  // through its NICs with all of it, twice gathered, once scattered. Groups of 8: the all-reduce across nodes carries a
  // rank's eighth, 4 P/8, twice half of it. So the slow fabric makes the flat group slower.
  spec::Job hybrid = job(1, 16);
  hybrid.strategy.shard = 8;
  EXPECT_LT(sim::predict(hybrid).trace.length, sim::predict(job(1, 16)).trace.length);
}

}  // namespace
