// tests/core/plan/build_gradients_test.cpp -- whole Plans: every gradient reduced, every parameter gathered, once.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/plan/build.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Call;
using plan::Operator;
using plan::Plan;
using plan::Role;
using walk::parameters;

/// Bytes that the operators of this name write on the first stage.
std::int64_t written_by(const Plan& p, const std::string& name) {
  std::int64_t sum = 0;
  walk::operators(p, p.roles[0], [&](const Call&, const Operator& op) {
    if (p.names[op.name] == name) sum += std::get<plan::MemoryBound>(p.works[op.work]).written;
  });
  return sum;
}

TEST(Gradients, AreReducedOnceForEveryParameterWithAnyBucketSize) {
  walk::Dice dice(69);
  for (int i = 0; i < 300; ++i) {
    const spec::Job j = walk::random_job(dice);
    if (j.strategy.data() == 1) continue;
    const Plan p = plan::build(j);
    const std::int64_t element = plan::Context(j).gradient_element;
    for (const Role& role : p.roles) {
      const char* name = j.strategy.zero ? "gradient reduce-scatter" : "gradient all-reduce";
      int buckets = 0;
      std::int64_t sum = 0;
      walk::operators(p, role, [&](const Call&, const Operator& op) {
        if (p.names[op.name] != name) return;
        ++buckets;
        sum += walk::collective(p, op)->bytes;
      });
      const std::int64_t count = parameters(j, role);  // each bucket is padded to a multiple of dp
      EXPECT_GE(sum, count * element) << walk::told(j);
      EXPECT_LE(sum, (count + std::int64_t{buckets} * (p.dp - 1)) * element) << walk::told(j);
    }
  }
}

TEST(Gradients, InOneBucketAreThePaddedParameters) {
  for (const bool overlap : {false, true}) {
    const spec::Job j = toy::job({.dp = 3, .microbatches = 2},
                                 [overlap](spec::Job& job) { job.strategy.overlap.grad_reduce = overlap; });
    const Plan p = plan::build(j);
    EXPECT_EQ(walk::count(p, p.roles[0], "gradient all-reduce"), 1);
    EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient all-reduce"),
              (parameters(j, p.roles[0]) + 2) / 3 * 3 * 4);
  }
}

TEST(Gradients, AreCopiedIntoBucketsThatStayAndBackWhereTheFrameworkDoesSo) {
  // Each bucket is copied right in front of its reduction, all at once when the last one is reduced; buckets stay, so a
  // rank holds its gradients twice. Under zero 1 there are none. dp 2 divides the toy's parameters, so no bucket is
  // padded.
  for (const int zero : {0, 1}) {
    const auto job = [zero](bool copies) {
      return toy::job({.dp = 2, .microbatches = 3}, [=](spec::Job& j) {
        j.strategy.zero = zero;
        j.framework.gradient_bucket = base::Bytes(4096);
        j.framework.bucket_copies = copies;
      });
    };
    const Plan plain = plan::build(job(false)), p = plan::build(job(true));
    const std::int64_t gradients = parameters(job(true), p.roles[0]) * 4;
    std::int64_t in = 0, back = 0;
    std::string before;
    walk::operators(p, p.roles[0], [&](const Call&, const Operator& op) {
      const std::string& name = p.names[op.name];
      const auto* copied = std::get_if<plan::MemoryBound>(&p.works[op.work]);
      if (name == "gradient all-reduce") {
        EXPECT_EQ(before, "bucket copy-in");
      }
      if (name == "bucket copy-in") in += copied->read;
      if (name == "bucket copy-out") back += copied->written;
      before = name;
    });
    EXPECT_EQ(in, zero == 0 ? gradients : 0);
    EXPECT_EQ(back, zero == 0 ? gradients : 0);
    const int held = static_cast<int>(plan::Category::gradients);
    EXPECT_EQ(p.roles[0].resident[held] - plain.roles[0].resident[held], zero == 0 ? gradients : 0);
  }
}

TEST(Gradients, AreScaledInFrontOfTheirReductionWhereTheFrameworkDoesSo) {
  for (const int zero : {0, 1, 2}) {
    const spec::Job job = toy::job({.dp = 2, .zero = zero, .microbatches = 3}, [](spec::Job& j) {
      j.framework.scales_gradients = true;
      j.framework.gradient_bucket = base::Bytes(4096);
    });
    const Plan p = plan::build(job);
    EXPECT_EQ(written_by(p, "bucket scaling"), zero < 2 ? parameters(job, p.roles[0]) * 4 : 0)
        << zero;  // units are not buckets
  }
}

TEST(Gradients, AreDividedAndLaidOutInTheirBuckets) {
  // DeepSpeed: copied into the bucket, divided and laid out. Under zero 2 and 3 the copy is the units'. None without
  // ZeRO. dp 2 divides the toy's parameters, so no bucket is padded; fp32 gradients.
  for (const auto& [zero, passes] : {std::pair{0, 0}, {1, 3}, {2, 2}, {3, 2}}) {
    const spec::Job job = toy::job({.dp = 2, .zero = zero}, [](spec::Job& j) {
      j.framework.bucket_passes = 2;
      j.framework.bucketed_units = true;
      j.framework.gradient_bucket = base::Bytes(4096);
    });
    const Plan p = plan::build(job);
    EXPECT_EQ(written_by(p, "bucket layout"), passes * parameters(job, p.roles[0]) * 4) << zero;
  }
}

TEST(Gradients, AreZeroedUnlessTheFrameworkFreesThem) {
  enum class Frees { none, all, sharded };
  for (const auto& [what, zero] : {std::pair(Frees::none, 0), std::pair(Frees::all, 0), std::pair(Frees::sharded, 0),
                                   std::pair(Frees::sharded, 1)}) {
    const bool frees = what == Frees::all || (what == Frees::sharded && zero > 0);
    const spec::Job job = toy::job({.dp = 2, .zero = zero, .microbatches = 3}, [&](spec::Job& j) {
      j.framework.fresh_gradients = what == Frees::all;
      j.framework.frees_sharded_gradients = what == Frees::sharded;
    });
    const Plan p = plan::build(job);
    std::int64_t zeroed = 0;
    int launches = 0;
    walk::operators(p, p.roles[0], [&](const Call&, const Operator& op) {
      if (p.names[op.name] != "zero gradients") return;
      zeroed += std::get<plan::MemoryBound>(p.works[op.work]).written;
      launches += op.launches;
    });
    EXPECT_EQ(zeroed, frees ? 0 : parameters(job, p.roles[0]) * 4);
    EXPECT_EQ(launches, frees ? 0 : 1);
  }
}

TEST(Gradients, AreReducedBehindTheLastBackwardUnlessOverlapped) {
  walk::Dice dice(70);
  for (int i = 0; i < 200; ++i) {
    const spec::Job j = walk::random_job(dice);
    if (j.strategy.data() == 1) continue;
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      std::map<int, int> last;  // call of each chunk's last backward
      for (std::size_t at = 0; at < role.calls.size(); ++at) {
        if (p.segments[role.calls[at].segment].name.find("backward") != std::string::npos)
          last[role.calls[at].chunk] = static_cast<int>(at);
      }
      for (std::size_t at = 0; at < role.calls.size(); ++at) {
        for (const Operator& op : p.segments[role.calls[at].segment].operators) {
          const std::string& name = p.names[op.name];
          if (name != "gradient all-reduce" && name != "gradient reduce-scatter") continue;
          if (*j.strategy.overlap.grad_reduce) {
            EXPECT_EQ(static_cast<int>(at), last[role.calls[at].chunk]) << walk::told(j);
          } else {
            EXPECT_EQ(at, role.calls.size() - 1) << walk::told(j);
          }
        }
      }
    }
  }
}

TEST(Parameters, AreGatheredOnceUnderZeroOne) {
  walk::Dice dice(71);
  for (int i = 0; i < 300; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      int gathers = 0;
      std::int64_t sum = 0;
      walk::operators(p, role, [&](const Call& call, const Operator& op) {
        if (p.names[op.name] != "parameter all-gather") return;
        EXPECT_EQ(call.microbatch >= 0, *j.strategy.overlap.param_gather);  // in the first forwards, or at the end
        ++gathers;
        sum += walk::collective(p, op)->bytes;
      });
      const bool sharded = j.strategy.zero == 1 && p.dp > 1;
      const std::int64_t count = sharded ? parameters(j, role) : 0;
      EXPECT_GE(sum, 2 * count) << walk::told(j);
      EXPECT_LE(sum, 2 * (count + std::int64_t{gathers} * (p.dp - 1))) << walk::told(j);
    }
  }
}

TEST(TiedEmbeddings, AreReducedBetweenFirstAndLastStageOnly) {
  const auto reduces = [](const toy::Cut& cut, bool tied) {
    const Plan p = plan::build(toy::job(cut, [tied](spec::Job& j) { j.model.tied_embeddings = tied; }));
    std::vector<std::int64_t> bytes;
    for (const Role& role : p.roles) {
      EXPECT_LE(walk::count(p, role, "tied embedding"), 1);
      bytes.push_back(walk::collective_bytes(p, role, "tied embedding"));
    }
    return bytes;
  };
  const std::int64_t table = 2048 * 256 * 4;  // fp32 gradients
  EXPECT_EQ(reduces({.pp = 4, .microbatches = 4}, true), (std::vector<std::int64_t>{table, 0, 0, table}));
  EXPECT_EQ(reduces({.tp = 2, .pp = 2}, true), (std::vector<std::int64_t>{table / 2, table / 2}));
  EXPECT_EQ(reduces({.pp = 4, .microbatches = 4}, false), (std::vector<std::int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(reduces({.tp = 2}, true), (std::vector<std::int64_t>{0}));
}

}  // namespace
