// tests/core/plan/offload_test.cpp -- what is copied where, and what stays on the device.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/offload.h"

#include <gtest/gtest.h>

#include "core/plan/block.h"
#include "tests/core/plan/walk.h"

namespace {

using To = spec::Offload::To;
using plan::Category;

spec::Job job(int dp, int zero, To optimizer, To parameters, bool activations = false, int microbatches = 1) {
  return toy::job({.dp = dp, .zero = zero, .microbatches = microbatches}, [&](spec::Job& j) {
    j.strategy.offload = {optimizer, parameters, activations};
    j.cluster.node.nvme.read = j.cluster.node.nvme.write = base::GBps(4);
  });
}

/// Bytes of the rated copies of a step whose name is `name`.
std::int64_t bytes(const plan::Plan& p, std::string_view name) {
  std::int64_t sum = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const auto* copy = std::get_if<plan::RatedCopy>(&p.works[op.work]);
    if (copy && p.names[op.name] == name) sum += copy->bytes;
  });
  return sum;
}

std::int64_t resident(const plan::Plan& p, Category category) {
  return p.roles[0].resident[static_cast<int>(category)];
}

TEST(Offload, AShardsGradientsLeaveAndItsWeightsComeBack) {
  // fp32 gradients: 4 bytes of each of the shard's parameters go down. The update reads them and 12 bytes of states,
  // writes 12 and 2 of weights; the norm reads the gradients, clipping reads and writes them. 2 bytes come back.
  for (const int zero : {1, 2}) {
    const spec::Job j = job(4, zero, To::cpu, To::none);
    const plan::Plan p = plan::build(j);
    const std::int64_t share = (walk::parameters(j, p.roles[0]) + 3) / 4;
    EXPECT_EQ(bytes(p, "gradients to host"), 4 * share);
    EXPECT_EQ(bytes(p, "gradient norm on host"), 4 * share);
    EXPECT_EQ(bytes(p, "clip gradients on host"), 8 * share);
    EXPECT_EQ(bytes(p, "optimizer on host"), (4 + 24 + 2) * share);
    EXPECT_EQ(bytes(p, "updated parameters to device"), 2 * share);
    EXPECT_EQ(walk::count(p, p.roles[0], "parameter all-gather"), 1);
    EXPECT_EQ(resident(p, Category::optimizer), 0);
    EXPECT_EQ(p.roles[0].host_bytes, (12 + 4) * share);
  }
}

TEST(Offload, TilesMoveTheSameBytesInPieces) {
  spec::Job j = job(4, 1, To::cpu, To::none);
  j.framework.optimizer_tile = base::Bytes(1e9);
  const plan::Plan p = plan::build(j);
  const std::int64_t share = (walk::parameters(j, p.roles[0]) + 3) / 4;
  EXPECT_EQ(walk::count(p, p.roles[0], "optimizer on host"), 8);
  EXPECT_EQ(bytes(p, "optimizer on host"), (12 + 24 + 2) * share);  // clipped in the same pass
  EXPECT_EQ(bytes(p, "updated parameters to device"), 2 * share);
  EXPECT_EQ(walk::count(p, p.roles[0], "gradient norm on host"), 0);
}

TEST(Offload, ShardsOfParametersComeBeforeEachGather) {
  // Every unit forward; backward every one but the last, which stays, and the root, which does.
  const spec::Job j = job(4, 3, To::cpu, To::cpu);
  const plan::Context c(j);
  const plan::Plan p = plan::build(j);
  std::int64_t units = 0;
  for (int layer = 0; layer < 4; ++layer) {
    units += (layer < 3 ? 2 : 1) * plan::optimizer_share(c, plan::layer_parameters(c, layer)).total();
  }
  plan::Held root = plan::last_parameters(c);
  root.dense += plan::embedding_parameters(c);
  EXPECT_EQ(bytes(p, "parameters to device"), 2 * (units + plan::optimizer_share(c, root).total()));
  EXPECT_EQ(walk::count(p, p.roles[0], "parameters to device"), walk::count(p, p.roles[0], "unit all-gather"));
  EXPECT_EQ(bytes(p, "updated parameters to device"), 0);
  EXPECT_EQ(resident(p, Category::parameters), 0);
  EXPECT_EQ(resident(p, Category::gradients), 0);
}

TEST(Offload, OneGpuFetchesItsParametersWithoutAGather) {
  const plan::Plan p = plan::build(job(1, 3, To::cpu, To::cpu));
  EXPECT_EQ(walk::count(p, p.roles[0], "parameters to device"), 4 + 3 + 1);
  EXPECT_EQ(walk::count(p, p.roles[0], "all-gather"), 0);
  EXPECT_EQ(resident(p, Category::parameters), 0);
}

TEST(Offload, ASumOfGradientsIsFetchedAddedAndSentBack) {
  // 3 microbatches: the first leaves its gradients, the others fetch the sum (with tiles) or add on the host.
  spec::Job j = job(2, 2, To::cpu, To::none, false, 3);
  const std::int64_t share = (walk::parameters(j, plan::build(j).roles[0]) + 1) / 2;
  const plan::Plan on_host = plan::build(j);
  EXPECT_EQ(bytes(on_host, "gradients to host"), 3 * 4 * share);
  EXPECT_EQ(bytes(on_host, "gradient sum on host"), 2 * 12 * share);
  j.framework.optimizer_tile = base::Bytes(1e9);
  const plan::Plan on_device = plan::build(j);
  EXPECT_EQ(bytes(on_device, "gradients to host"), 4 * share);
  EXPECT_EQ(bytes(on_device, "gradient sum to device"), 2 * 4 * share);
  EXPECT_EQ(bytes(on_device, "gradient sum to host"), 2 * 4 * share);
}

TEST(Offload, GradientsOfWeightsThatRunApartLeaveBehindThem) {
  // Of each of 3 microbatches 4 bytes of a rank's share go down, in passes of weight gradients; all but the first join
  // the sum on the host.
  for (const spec::Schedule schedule : {spec::Schedule::zb_h1, spec::Schedule::zb_v}) {
    for (const int zero : {2, 3}) {
      const spec::Job j = toy::job({.pp = 2, .dp = 2, .zero = zero, .microbatches = 3, .schedule = schedule},
                                   [](spec::Job& job) { job.strategy.offload.optimizer = To::cpu; });
      const plan::Plan p = plan::build(j);
      const std::int64_t share = (walk::parameters(j, p.roles[0]) + 1) / 2;
      EXPECT_EQ(bytes(p, "gradients to host"), 3 * 4 * share);
      EXPECT_EQ(bytes(p, "gradient sum on host"), 2 * 12 * share);
      walk::operators(p, p.roles[0], [&](const plan::Call& call, const plan::Operator& op) {
        if (p.names[op.name] != "gradients to host") return;
        EXPECT_TRUE(p.segments[call.segment].name.ends_with("of weights"));
      });
    }
  }
}

TEST(Offload, DrivesHoldStatesAndAreReadAndWrittenOnce) {
  const spec::Job j = job(4, 3, To::nvme, To::nvme);
  const plan::Context c(j);
  const plan::Plan p = plan::build(j);
  const std::int64_t share = plan::optimizer_share(c, plan::chunk_parameters(c, plan::chunks_of(c)[0][0])).total();
  EXPECT_EQ(bytes(p, "read states"), (12 + 4) * share);
  EXPECT_EQ(bytes(p, "write states"), (12 + 2) * share);  // and the 16-bit weights, which live there, too
  EXPECT_EQ(bytes(p, "read parameters"), bytes(p, "parameters to device"));
  EXPECT_EQ(p.roles[0].nvme_bytes, (12 + 4 + 2) * share);
}

TEST(Offload, ActivationsLeaveAndComeBackAndNothingIsLost) {
  // zb-h1 runs its input gradients, which bring them back, when 1F1B does.
  using spec::Schedule;
  for (const auto& [pp, schedule] :
       {std::pair(1, Schedule::one_f_one_b), std::pair(2, Schedule::one_f_one_b), std::pair(2, Schedule::zb_h1)}) {
    const spec::Job j = toy::job({.pp = pp, .microbatches = 3, .schedule = schedule},
                                 [](spec::Job& j) { j.strategy.offload.activations = true; });
    const plan::Context c(j);
    const plan::Plan p = plan::build(j);
    const std::int64_t kept = plan::kept_activations(c, spec::Recompute::Kind::none).total();
    for (const plan::Role& role : p.roles) {
      const bool last = role.stage + 1 == pp;
      const int layers = 4 / pp - (last ? 1 : 0);  // the model's last layer stays
      EXPECT_EQ(walk::count(p, role, "activations to host"), 3 * layers);
      EXPECT_EQ(walk::count(p, role, "activations to device"), 3 * layers);
      std::int64_t device = 0, host = 0, most = 0;
      for (const plan::Call& call : role.calls) {
        host += p.segments[call.segment].host_bytes;
        most = std::max(most, host);
        for (const plan::MemoryChange& change : p.segments[call.segment].memory) device += change.bytes;
      }
      EXPECT_EQ(device, 0);
      EXPECT_EQ(host, 0);
      EXPECT_EQ(most, layers * kept * (pp - role.stage));  // microbatches in flight
    }
  }
}

/// Over all of a step's calls; never below nothing on the way.
std::int64_t left(const plan::Plan& p, const plan::Role& role) {
  std::int64_t level = 0;
  for (const plan::Call& call : role.calls) {
    for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
      level += change.bytes;
      EXPECT_GE(level, 0);
    }
  }
  return level;
}

TEST(Offload, MemoryReturnsInEveryCombination) {
  using spec::Schedule;
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_v}) {
    for (const int dp : {1, 2}) {
      for (const int zero : {1, 2, 3}) {
        for (const bool activations : {false, true}) {
          for (const To parameters : {To::none, To::cpu, To::nvme}) {
            if (zero < 3 && parameters != To::none) continue;
            spec::Job j = job(dp, zero, To::cpu, parameters, activations, 2);
            j.strategy.schedule = schedule;
            if (schedule != Schedule::one_f_one_b) j.strategy.pp = 2;
            const plan::Plan p = plan::build(j);
            for (const plan::Role& role : p.roles)
              EXPECT_EQ(left(p, role), 0) << dp << ' ' << zero << ' ' << activations;
          }
        }
      }
    }
  }
}

}  // namespace
