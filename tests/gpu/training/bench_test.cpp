// tests/gpu/training/bench_test.cpp -- `forerun calibrate` can time a point of every kind: operands lie where kernels
// look for them, libraries take them, and no call fails. What the times are worth is for a GPU to tell.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/base/fault.h"
#include "real/gpu/bench/gpu_bench.h"
#include "real/launch/world.h"
#include "tests/gpu/training/gpus.h"

namespace {

using config::AttentionRow;
using config::MatmulRow;
using real::Beside;
using real::CollectiveShape;
using real::HostCopy;
using real::Launch;
using real::MemoryOperator;
using real::Shape;
using spec::Dtype;

constexpr std::int64_t kMiB = 1 << 20;

/// Emulated, as soon as there is one time: caches of 256 MiB are emptied before each.
std::vector<base::Seconds> timed(real::GpuBench& bench, const Shape& shape) {
  if (!gpus::emulated()) return bench.time(shape, base::s(4));
  std::vector<base::Seconds> out;
  for (double most = std::holds_alternative<Launch>(shape) ? 1.5 : 0.1; out.empty() && most < 10; most *= 2) {
    out = bench.time(shape, base::s(most));
  }
  return out;
}

class Bench : public testing::Test {
 protected:
  void expect_timed(const std::vector<Shape>& shapes) {
    const gpus::Turns turns(3, 1);
    std::vector<real::World> worlds = real::in_process(1);
    const real::CurrentDevice current(0);
    real::GpuBench bench(worlds.front(), real::facts(0));
    for (const Shape& shape : shapes) {
      SCOPED_TRACE(real::words(shape));
      try {
        const std::vector<base::Seconds> times = timed(bench, shape);
        EXPECT_FALSE(times.empty());
        EXPECT_THAT(times, testing::Each(testing::Gt(base::Seconds{})));
        const bool long_run = std::holds_alternative<real::Sustained>(shape);
        EXPECT_TRUE(gpus::emulated() || long_run || times.size() == real::kSamples);
      } catch (const base::DeviceError& refused) {
        ADD_FAILURE() << refused.what();
      }
    }
    EXPECT_FALSE(bench.condition().gpu.empty());
  }
};

TEST_F(Bench, TimesMatmuls) {
  std::vector<Shape> shapes{MatmulRow{.m = 64, .n = 128, .k = 96},
                            MatmulRow{.m = 17, .n = 24, .k = 40},
                            MatmulRow{.m = 64, .n = 128, .k = 96, .out = Dtype::fp32, .accumulates = true},
                            MatmulRow{.m = 64, .n = 128, .k = 96, .input_gradient = true},
                            MatmulRow{.m = 64, .n = 128, .k = 96, .weight_gradient = true},
                            MatmulRow{.m = 32, .n = 64, .k = 48, .batch = 3, .grouped = true}};
  if (gpus::capability() >= gpus::kFp8Since)
    shapes.push_back(MatmulRow{.m = 64, .n = 128, .k = 96, .dtype = Dtype::fp8});
  expect_timed(shapes);
}

TEST_F(Bench, TimesAttention) {
  using Passes = AttentionRow::Passes;
  std::vector<Shape> shapes;
  for (const Passes passes : {Passes::forward, Passes::backward}) {
    for (const bool causal : {true, false}) {
      shapes.push_back(AttentionRow{.passes = passes,
                                    .kernel = {},
                                    .batch = 2,
                                    .q_len = 32,
                                    .kv_len = 32,
                                    .heads = 4,
                                    .kv_heads = 2,
                                    .head_dim = 64,
                                    .value_head_dim = 64,
                                    .causal = causal});
    }
  }
  expect_timed(shapes);
}

TEST_F(Bench, TimesOperatorsThatWaitForMemory) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < real::kMemoryOperators.size(); ++i) {
    shapes.push_back(MemoryOperator{static_cast<MemoryOperator::What>(i), 24, 256});
  }
  expect_timed(shapes);
}

TEST_F(Bench, TimesCopiesAndLaunches) {
  using Direction = HostCopy::Direction;
  std::vector<Shape> shapes;
  for (const Direction direction : {Direction::to_device, Direction::to_host, Direction::both}) {
    for (const bool pinned : {true, false}) {
      shapes.push_back(HostCopy{.direction = direction, .pinned = pinned, .bytes = kMiB});
    }
  }
  for (const auto what : {Launch::What::issue, Launch::What::gap, Launch::What::graph_gap, Launch::What::events}) {
    shapes.push_back(Launch{what});
  }
  expect_timed(shapes);
}

TEST_F(Bench, TimesKernelsBesideOthers) {
  if (gpus::emulated()) GTEST_SKIP() << "a CPU would multiply for hours";
  expect_timed({Beside{Beside::Subject::matmul, 16}, Beside{Beside::Subject::attention, 16},
                Beside{Beside::Subject::copy, 16}, Beside{Beside::Subject::copy, 16, false},
                HostCopy{.beside_matmul = true, .bytes = 64 * kMiB}, real::Sustained{2}});
}

TEST_F(Bench, GoesOnBehindAPointThatIsRefused) {
  const gpus::Turns turns(4, 1);
  std::vector<real::World> worlds = real::in_process(1);
  const real::CurrentDevice current(0);
  real::GpuBench bench(worlds.front(), real::facts(0));
  const std::int64_t huge = std::int64_t{1} << 20;
  EXPECT_THROW(bench.time(MatmulRow{.m = huge, .n = huge, .k = huge}, base::s(1)), base::DeviceError);
  EXPECT_THROW(bench.time(MatmulRow{.m = 64, .n = 64, .k = 64, .dtype = Dtype::fp32}, base::s(1)), base::DeviceError);
  EXPECT_THROW(bench.time(CollectiveShape{.bytes = kMiB, .ranks = 2}, base::s(1)), base::DeviceError);
  EXPECT_FALSE(timed(bench, MatmulRow{.m = 64, .n = 64, .k = 64}).empty());
}

TEST_F(Bench, TimesCollectivesOfSeveralGpus) {
  constexpr int kRanks = 4;
  if (gpus::count() < kRanks) GTEST_SKIP() << "there are too few GPUs";
  const gpus::Turns turns(5, kRanks);
  std::vector<real::World> worlds = real::in_process(kRanks);
  const auto run = [&](int self) {
    const real::CurrentDevice current(self);
    real::GpuBench bench(worlds[static_cast<std::size_t>(self)], real::facts(self));
    if (self > 0) return bench.follow();
    for (std::size_t op = 0; op < real::kCollectiveOps.size(); ++op) {
      for (const int ranks : {2, kRanks}) {
        const Shape shape = CollectiveShape{static_cast<CollectiveShape::Op>(op), 64 << 10, ranks};
        SCOPED_TRACE(real::words(shape));
        const std::vector<base::Seconds> times = bench.time(shape, base::s(1));
        EXPECT_FALSE(times.empty());
        EXPECT_THAT(times, testing::Each(testing::Gt(base::Seconds{})));
      }
    }
    bench.end();
  };
  const auto rank = [&](int self) {
    try {
      run(self);
    } catch (const std::exception& error) {
      worlds[static_cast<std::size_t>(self)].store->abort(error.what());
      ADD_FAILURE() << "rank " << self << ": " << error.what();
    }
  };
  std::vector<std::jthread> threads;
  for (int self = 0; self < kRanks; ++self) threads.emplace_back(rank, self);
}

}  // namespace
