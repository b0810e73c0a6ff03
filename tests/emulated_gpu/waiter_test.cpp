// tests/emulated_gpu/waiter_test.cpp -- tests what keeps a host that waits for its GPU from waiting for ever:
// real/gpu/waiter.h, and which calls of real/gpu/gpu_backend.h a watchdog knows of.
// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/waiter.h"

#include <functional>
#include <thread>

#include "core/base/fault.h"
#include "real/cuda/communicator.h"
#include "real/gpu/bench/collectives.h"
#include "real/gpu/gpu_backend.h"
#include "real/gpu/rank_run.h"
#include "tests/emulated_gpu/device.h"
#include "tests/gpu/training/near.h"

namespace {

using gpus::job_of;

/// `body` on a thread for each of two ranks; what each threw.
std::vector<std::string> on_two_ranks(const std::function<void(real::World&)>& body) {
  const gpus::Turns turns(1, 2);
  std::vector<real::World> worlds = real::in_process(2);
  std::vector<std::string> said(2);
  const auto run = [&](std::size_t rank) {
    const real::CurrentDevice current(static_cast<int>(rank));
    try {
      body(worlds[rank]);
    } catch (const std::exception& error) {
      said[rank] = error.what();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < 2; ++rank) threads.emplace_back(run, rank);
  }
  return said;
}

/// Returns when another rank has given up, and throws what it said.
void wait_to_be_told(real::World& world) {
  for (int i = 0; i < 30'000; ++i) {
    world.store->check();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Waiter, ASumThatNeverEndsIsGivenUpAndSaysWhatItWasToldToSay) {
  const auto said = on_two_ranks([](real::World& world) {
    real::Communicator both(world);
    if (world.identity.rank == 1) return wait_to_be_told(world);  // and never joins in the sum
    const real::Stream stream;
    const real::Event done;
    float* one = nullptr;
    real::check(cudaMalloc(reinterpret_cast<void**>(&one), sizeof(float)), "cudaMalloc");
    real::check(ncclAllReduce(one, one, 1, ncclFloat, ncclSum, both.get(), stream.get()), "ncclAllReduce");
    done.record(stream);
    const real::Waiter waiter(
        world, [&] { both.check_async(); }, [&] { both.abort(); });
    EXPECT_THROW(waiter.until(done, {base::ms(100), "the sum did not end"}), base::DeviceError);
    EXPECT_EQ(both.get(), nullptr);
    stream.synchronize();  // nothing waits for the other rank any more
    real::check(cudaFree(one), "cudaFree");
    throw base::DeviceError("done");
  });
  EXPECT_EQ(said[0], "done");
  EXPECT_EQ(said[1], "rank 0 gave up: the sum did not end");
}

// Whatever an operator calls may wait for the device: its events, its memory, functions of the host.
TEST(GpuBackend, AnOperatorIsHeldFromItsBeginToTheNext) {
  const gpus::Turns turns(1, 1);
  std::vector<real::World> worlds = real::in_process(1);
  real::World& world = worlds.front();
  const real::CurrentDevice current(0);
  const spec::Job job = job_of(tiny::llama(), {"", {}});
  const plan::Plan plan = plan::build(job);
  const real::Communicator everyone(world);
  real::GpuBackend backend(world, 0, everyone, real::memberships(plan::Context(job), plan, 0));
  EXPECT_EQ(world.call->overdue(), nullptr);
  world.patience.message = base::s(-1);
  backend.begin(plan::Stream::compute, {});
  EXPECT_STREQ(world.call->overdue(), "a call into CUDA");
  const real::Tensor numbers = backend.allocate(4, {});
  EXPECT_STREQ(world.call->overdue(), "a call into CUDA");
  backend.fill(numbers, 0);  // a launch inside
  EXPECT_STREQ(world.call->overdue(), "a call into CUDA");
  backend.synchronize();
  EXPECT_EQ(world.call->overdue(), nullptr);
}

// cuBLASLt's workspace of 32 MiB does not fit.
TEST(GpuBackend, OneThatCannotBeMadeTellsTheOthersAtOnce) {
  const spec::Job job = job_of(tiny::llama(), {"", {.dp = 2}});
  const auto said = on_two_ranks([&](real::World& world) {
    if (world.identity.rank == 0) {
      real::Communicator everyone(world);
      wait_to_be_told(world);
    }
    emulated_gpu::Device::at(1).set_memory(1 << 20);
    real::run_rank(world, job, plan::build(job), real::facts(1), tiny::tokens(job), {});
  });
  emulated_gpu::Device::at(1).set_memory(std::size_t{80} << 30);
  EXPECT_THAT(said[0], testing::HasSubstr("rank 1 gave up: "));
  EXPECT_THAT(said[1], testing::HasSubstr("do not fit on GPU 1"));
}

// A communicator whose calls a graph holds is not ended before the graph.
TEST(GpuBackend, GivesUpACapturedStepWhoseRunWaitsForARankThatIsGone) {
  spec::Job job = job_of(tiny::llama(), {"", {.dp = 2}});
  job.strategy.cuda_graphs = spec::CudaGraphs::whole;
  const plan::Plan plan = plan::build(job);
  const real::Tokens tokens = tiny::tokens(job);
  const auto begun = std::chrono::steady_clock::now();
  const auto said = on_two_ranks([&](real::World& world) {
    const int rank = world.identity.rank;
    const real::Communicator everyone(world);
    real::GpuBackend backend(world, rank, everyone, real::memberships(plan::Context(job), plan, rank));
    try {
      backend.connect();
      real::Executor executor(job, plan, rank, backend, tokens, tiny::settings());
      backend.synchronize();
      executor.step();
      backend.capture_next_step();
      executor.step();
      if (rank == 1) throw base::DeviceError("has had enough");
      backend.run_captured();
    } catch (const std::exception& error) {
      world.store->abort(error.what());
      backend.give_up();
      throw;
    }
  });
  EXPECT_EQ(said[1], "has had enough");
  EXPECT_THAT(said[0], testing::HasSubstr("rank 1 gave up: has had enough"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(50));  // a GPU on which nothing moves: 60
}

// Both ranks have called; nothing comes through.
TEST(Collectives, OneThatNeverEndsIsGivenUpAndNamed) {
  setenv("FORERUN_EMULATED_DEAF", "1", 1);
  const auto said = on_two_ranks([](real::World& world) {
    real::Collectives collectives(world);
    world.patience.join = base::ms(200);
    const real::Stream stream;
    real::Arena arena(base::GiB(1), stream);
    if (world.identity.rank == 1) return collectives.follow(arena, stream);
    collectives.timed({real::CollectiveShape::Op::all_gather, 1024, 2}, arena, stream, base::s(1));
  });
  unsetenv("FORERUN_EMULATED_DEAF");
  for (const std::string& one : said) EXPECT_THAT(one, testing::HasSubstr("did not end within"));
  EXPECT_THAT(said[0], testing::HasSubstr("NCCL_P2P_DISABLE=1"));
}

// Else a follower would take rank 0 for lost while it times kernels of its own.
TEST(Collectives, WhoFollowsIsToldToKeepWaiting) {
  const auto said = on_two_ranks([](real::World& world) {
    world.patience.message = base::s(1);
    real::Collectives collectives(world, base::ms(300));
    const real::Stream stream;
    real::Arena arena(base::GiB(1), stream);
    if (world.identity.rank == 1) return collectives.follow(arena, stream);
    for (int i = 0; i < 20; ++i) {  // 2 s
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      collectives.keep_waiting();
    }
    collectives.end();
  });
  EXPECT_THAT(said, testing::Each(""));
}

}  // namespace
