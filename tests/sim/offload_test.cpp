// tests/sim/offload_test.cpp -- what offloading costs and saves. The toy's PCIe has 20 GB/s, its host 100 GB/s.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/plan/block.h"
#include "core/plan/build.h"
#include "core/plan/shares.h"
#include "sim/memory/host_footprint.h"
#include "sim/predict.h"
#include "tests/support/toy.h"

namespace {

using To = spec::Offload::To;

double share(const result::Prediction& p, const std::string& name) {
  for (const auto& [key, value] : p.breakdown_s) {
    if (key == name) return value;
  }
  return -1;
}

spec::Job offloaded(const toy::Cut& cut, const spec::Offload& offload, double tile = 0) {
  return toy::job(cut, [&](spec::Job& j) {
    j.strategy.offload = offload;
    j.framework.optimizer_tile = base::Bytes(tile);
    j.cluster.node.nvme.read = base::GBps(8);
    j.cluster.node.nvme.write = base::GBps(4);
  });
}

double parameters(const spec::Job& job) {
  const plan::Context c(job);
  return static_cast<double>(plan::chunk_parameters(c, plan::chunks_of(c)[0][0]).total());
}

TEST(OffloadCosts, AnUpdateAtOnceIsExposedWhole) {
  // Down 4 bytes of P parameters at 20 GB/s; norm 4, clipping 8 and update 30 bytes at 100 GB/s; up 2 at 20 GB/s.
  const spec::Job job = offloaded({.zero = 1}, {.optimizer = To::cpu});
  const double p = parameters(job);
  const double expected = p * (6 / 20e9 + 42 / 100e9);
  EXPECT_NEAR(share(sim::predict(job).prediction, "offload"), expected, 1e-6 * expected);
}

TEST(OffloadCosts, TilesHideTheirWayBack) {
  // Update 38 bytes at 100 GB/s; of the way back (2 bytes at 20 GB/s) only the last of 8 tiles shows.
  const spec::Job job = offloaded({.zero = 1}, {.optimizer = To::cpu}, 1e9);
  const double p = parameters(job);
  const double expected = p * (4 / 20e9 + 38 / 100e9 + 2 / 20e9 / 8);
  EXPECT_NEAR(share(sim::predict(job).prediction, "offload"), expected, 1e-5 * expected);
}

TEST(OffloadCosts, DrivesAreReadAheadAndWrittenBehind) {
  // The same drives read 16 bytes of each parameter at 8 GB/s and write 14 at 4 GB/s: 5.5 ns, beside which the update
  // hides but for a tile. On top of that units are read three times at most (2 bytes) and gradients written (4 bytes).
  const spec::Job job = offloaded({.zero = 3}, {.optimizer = To::nvme, .parameters = To::nvme}, 1e9);
  const double p = parameters(job);
  const double storage = share(sim::predict(job).prediction, "storage");
  EXPECT_GT(storage, p * 5.5e-9);
  EXPECT_LT(storage, p * (5.5e-9 + 3 * 2 / 8e9 + 4 / 4e9));
}

TEST(OffloadCosts, RanksOfANodeShareTheHost) {
  // Four ranks update a quarter each with a quarter of the bandwidth: as long as one rank with all of it.
  const double one = share(sim::predict(offloaded({.zero = 1}, {.optimizer = To::cpu})).prediction, "offload");
  const spec::Job four = offloaded({.dp = 4, .zero = 1}, {.optimizer = To::cpu});
  const double p = parameters(four);
  EXPECT_NEAR(one - share(sim::predict(four).prediction, "offload"), p * 6 / 20e9 * 3 / 4, 1e-3 * one);
}

TEST(OffloadCosts, ActivationsHideBehindComputeOnAFastLinkAlone) {
  const auto with = [](double link, bool activations) {
    spec::Job job = toy::job({.micro_batch = 8}, [&](spec::Job& j) {
      j.model.layers = 12;
      j.strategy.offload.activations = activations;
      j.cluster.node.pcie.bandwidth = j.cluster.node.host.bandwidth = base::GBps(link);
    });
    return sim::predict(job).prediction;
  };
  const result::Prediction stays = with(10, false), slow = with(10, true), fast = with(100'000, true);
  EXPECT_LT(slow.peak_bytes, stays.peak_bytes);
  EXPECT_GT(share(slow, "offload"), 0);
  EXPECT_NEAR(fast.step_time_s, stays.step_time_s, 1e-2 * stays.step_time_s);
  // Two of twelve layers and the last: what is left of the activations.
  const spec::Job job = toy::job({.micro_batch = 8});
  const std::int64_t kept = plan::kept_activations(plan::Context(job), spec::Recompute::Kind::none).total();
  EXPECT_GE(stays.peak_bytes - slow.peak_bytes, 9 * kept);
}

TEST(OffloadCosts, AHostTooSmallDoesNotFit) {
  spec::Job job = offloaded({.dp = 2, .zero = 1}, {.optimizer = To::cpu});
  const std::int64_t needed = sim::host_footprint(plan::build(job), job).bytes;
  EXPECT_NEAR(static_cast<double>(needed), 16 * parameters(job), 100);  // 12 of states, 4 of gradients, over two ranks
  job.cluster.node.host.memory = base::Bytes(static_cast<double>(needed));
  EXPECT_TRUE(sim::predict(job).prediction.fits);
  job.cluster.node.host.memory = base::Bytes(static_cast<double>(needed - 1));
  const result::Prediction p = sim::predict(job).prediction;
  EXPECT_FALSE(p.fits);
  EXPECT_EQ(p.attack, "host_memory");
}

TEST(OffloadCosts, FoldedIsUnfoldedAndSharesAddUp) {
  for (const int tp : {1, 2}) {
    for (const int pp : {1, 2}) {
      for (const int zero : {1, 2, 3}) {
        for (const double tile : {0.0, 1e9}) {
          const To parameters = zero == 3 ? (tile > 0 ? To::nvme : To::cpu) : To::none;
          const To optimizer = zero == 3 && tile > 0 ? To::nvme : To::cpu;
          spec::Job job =
              offloaded({.tp = tp,
                         .pp = pp,
                         .dp = 2,
                         .zero = zero,
                         .microbatches = 3,
                         .recompute = {tp == 2 ? spec::Recompute::Kind::full : spec::Recompute::Kind::none, 0}},
                        {.optimizer = optimizer, .parameters = parameters, .activations = pp == tp}, tile);
          job.cluster.node.nvlink.via = tp == 2 ? spec::Switch::none : spec::Switch::nvswitch;
          job.framework.unit_copies = job.framework.bucketed_units = tile > 0;
          job.framework.fp32_shards = tile == 0;
          job.strategy.overlap.grad_reduce = job.strategy.overlap.param_gather = pp == 2;
          const sim::Outcome folded = sim::predict(job);
          double sum = 0;
          for (const auto& [name, seconds] : folded.prediction.breakdown_s) sum += seconds;
          EXPECT_EQ(sum, folded.prediction.step_time_s);
          job.simulation.unfold = true;
          EXPECT_EQ(sim::predict(job).trace.length, folded.trace.length) << tp << pp << zero << tile;
        }
      }
    }
  }
}

}  // namespace
