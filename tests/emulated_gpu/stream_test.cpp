// tests/emulated_gpu/stream_test.cpp -- that streams of the emulated GPU wait for events alone, and are told when they
// count on luck. SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "real/cuda/stream.h"
#include "tests/emulated_gpu/device.h"
#include "tests/emulated_gpu/memory.h"

namespace emulated_gpu {
namespace {

using real::Event;
using real::Stream;
using testing::HasSubstr;

constexpr unsigned kSeeds = 300;

/// A GPU as new, whose streams follow the seed.
class Gpu {
 public:
  explicit Gpu(unsigned seed) {
    Device::make_current(0);
    Device::current().reset();
    set_schedule(seed);
  }
  ~Gpu() {
    Device::current().reset();
    set_schedule(std::nullopt);
  }
};

/// Numbers of the host that functions of streams write behind one another.
class Log {
 public:
  void write(const Stream& stream, int number) {
    auto* entry = new Entry{this, number};
    ASSERT_EQ(cudaLaunchHostFunc(stream.get(), &Log::add, entry), cudaSuccess);
  }
  std::vector<int> numbers;

 private:
  struct Entry {
    Log* log;
    int number;
  };
  static void add(void* data) {
    const std::unique_ptr<Entry> entry(static_cast<Entry*>(data));
    entry->log->numbers.push_back(entry->number);
  }
};

/// What a program has written when its streams follow each seed.
template <class Program>
std::set<std::vector<int>> outcomes(Program program) {
  std::set<std::vector<int>> out;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Gpu gpu(seed);
    Log log;
    program(log);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    out.insert(log.numbers);
  }
  return out;
}

// Two streams of two each: six orders keep that of each stream.
TEST(Streams, KeepTheirOwnOrderAndNoOther) {
  const auto seen = outcomes([](Log& log) {
    const Stream one, two;
    log.write(one, 1);
    log.write(one, 2);
    log.write(two, 3);
    log.write(two, 4);
  });
  EXPECT_EQ(seen, (std::set<std::vector<int>>{
                      {1, 2, 3, 4}, {1, 3, 2, 4}, {1, 3, 4, 2}, {3, 1, 2, 4}, {3, 1, 4, 2}, {3, 4, 1, 2}}));
}

TEST(Streams, WaitForTheLatestRecordBeforeTheWait) {
  const auto seen = outcomes([](Log& log) {
    const Stream one, two;
    const Event event;
    two.wait_for(event);  // was never recorded: no wait
    log.write(one, 1);
    event.record(one);
    two.wait_for(event);
    log.write(two, 2);
    log.write(one, 3);
    event.record(one);  // behind the wait, which does not see it
  });
  EXPECT_EQ(seen, (std::set<std::vector<int>>{{1, 2, 3}, {1, 3, 2}}));
}

TEST(Streams, AreAskedWithoutBeingWaitedFor) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Gpu gpu(seed);
    const Stream stream;
    const Event begin(Event::Kind::timing), end(Event::Kind::timing);
    Log log;
    begin.record(stream);
    log.write(stream, 1);
    end.record(stream);
    while (cudaEventQuery(end.get()) == cudaErrorNotReady) {
    }
    EXPECT_EQ(log.numbers, std::vector<int>{1});
    EXPECT_GE(real::elapsed(begin, end).si(), 0);
  }
}

class Memory {
 public:
  Memory() {
    cudaMemPoolProps properties{};
    properties.location.type = cudaMemLocationTypeDevice;
    EXPECT_EQ(cudaMemPoolCreate(&pool_, &properties), cudaSuccess);
  }
  ~Memory() { cudaMemPoolDestroy(pool_); }
  void* take(const Stream& stream) {
    void* out = nullptr;
    cudaMallocFromPoolAsync(&out, 64, pool_, stream.get());
    return out;
  }

 private:
  cudaMemPool_t pool_ = nullptr;
};

/// In how many seeds the GPU has failed, and that all failed with such words.
template <class Program>
unsigned failures(const char* words, Program program) {
  unsigned failed = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Gpu gpu(seed);
    Memory memory;
    program(memory);
    cudaDeviceSynchronize();
    const std::string why = Device::current().failure();
    if (why.empty()) continue;
    ++failed;
    EXPECT_THAT(why, HasSubstr(words));
    Device::current().reset();
  }
  return failed;
}

// One stream uses what another one takes and gives back.
TEST(Memory, IsUsedFromWhereItsStreamTakesItToWhereItGivesItBack) {
  const auto program = [](bool waits_before, bool waits_behind) {
    return [=](Memory& memory) {
      const Stream home, other;
      const Event taken, used;
      void* const array = memory.take(home);
      if (waits_before) {
        cudaEventRecord(taken.get(), home.get());
        cudaStreamWaitEvent(other.get(), taken.get(), 0);
      }
      cudaMemsetAsync(array, 0, 64, other.get());
      if (waits_behind) {
        cudaEventRecord(used.get(), other.get());
        cudaStreamWaitEvent(home.get(), used.get(), 0);
      }
      cudaFreeAsync(array, home.get());
    };
  };
  EXPECT_EQ(failures("", program(true, true)), 0u);
  const unsigned too_early = failures("that its stream has not taken yet", program(false, true));
  EXPECT_GT(too_early, 10u);
  EXPECT_LT(too_early, kSeeds);  // luck
  EXPECT_GT(failures("that was given back", program(true, false)), 50u);
}

TEST(Memory, IsToldFromWhatIsNoneAndCountedUntilItIsGivenBack) {
  const Gpu gpu(0);
  const std::size_t before = bytes_allocated();
  {
    Memory memory;
    const Stream stream;
    void* const array = memory.take(stream);
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    EXPECT_EQ(bytes_allocated(), before + 64);
    EXPECT_EQ(cudaFreeAsync(array, stream.get()), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    EXPECT_EQ(bytes_allocated(), before);
  }
  Device::current().set_memory(100);
  void* array = nullptr;
  EXPECT_EQ(cudaMalloc(&array, 101), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&array, 100), cudaSuccess);
  EXPECT_EQ(cudaFree(array), cudaSuccess);
  Device::current().set_memory(std::size_t{80} << 30);
}

TEST(Functions, OfTheHostCallNothingOfCuda) {
  const Gpu gpu(0);
  const Stream stream;
  cudaLaunchHostFunc(
      stream.get(), [](void*) { cudaDeviceSynchronize(); }, nullptr);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaErrorLaunchFailure);
  EXPECT_THAT(cudaGetErrorString(cudaErrorLaunchFailure), HasSubstr("a function that runs on the host calls CUDA"));
}

TEST(Functions, CopyFromAndToPageLockedMemoryAlone) {
  const Gpu gpu(0);
  const Stream stream;
  void* array = nullptr;
  ASSERT_EQ(cudaMalloc(&array, 64), cudaSuccess);
  std::vector<char> pageable(64);
  EXPECT_EQ(cudaMemcpyAsync(array, pageable.data(), 64, cudaMemcpyHostToDevice, stream.get()), cudaErrorLaunchFailure);
  EXPECT_THAT(Device::current().failure(), HasSubstr("pageable"));
}

/// A graph of what `program` gives to streams; null where it cannot be ended.
template <class Program>
cudaGraphExec_t captured(const Stream& origin, Program program) {
  EXPECT_EQ(cudaStreamBeginCapture(origin.get(), cudaStreamCaptureModeRelaxed), cudaSuccess);
  program();
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(origin.get(), &graph) != cudaSuccess) return nullptr;
  cudaGraphExec_t out = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&out, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch), cudaSuccess);
  cudaGraphDestroy(graph);
  return out;
}

/// Writes its number as often as it is called.
struct Number {
  std::vector<int>* to;
  int number;
  static void add(void* data) {
    const auto* const self = static_cast<Number*>(data);
    self->to->push_back(self->number);
  }
};

// 1 forks to 2 and 3, which are joined by 4: two orders, in each run.
TEST(Graphs, RunInAnyOrderThatTheirEdgesAllow) {
  std::set<std::vector<int>> seen;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Gpu gpu(seed);
    const Stream origin, other;
    const Event forked, joined;
    std::vector<int> written;
    std::vector<Number> numbers{{&written, 1}, {&written, 2}, {&written, 3}, {&written, 4}};
    const auto write = [&](const Stream& stream, std::size_t n) {
      EXPECT_EQ(cudaLaunchHostFunc(stream.get(), &Number::add, &numbers[n - 1]), cudaSuccess);
    };
    const cudaGraphExec_t graph = captured(origin, [&] {
      write(origin, 1);
      forked.record(origin);
      other.wait_for(forked);
      write(other, 2);
      write(origin, 3);
      joined.record(other);
      origin.wait_for(joined);
      write(origin, 4);
    });
    ASSERT_NE(graph, nullptr);
    EXPECT_TRUE(written.empty());
    for (int run = 0; run < 2; ++run) {
      written.clear();
      EXPECT_EQ(cudaGraphLaunch(graph, origin.get()), cudaSuccess);
      EXPECT_EQ(cudaStreamSynchronize(origin.get()), cudaSuccess);
      seen.insert(written);
    }
    EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
  }
  EXPECT_EQ(seen, (std::set<std::vector<int>>{{1, 2, 3, 4}, {1, 3, 2, 4}}));
}

TEST(Graphs, AreRefusedWhereAStreamWasNotJoined) {
  const Gpu gpu(0);
  const Stream origin, other;
  const Event forked;
  std::vector<int> written;
  Number number{&written, 1};
  EXPECT_EQ(captured(origin,
                     [&] {
                       forked.record(origin);
                       other.wait_for(forked);
                       cudaLaunchHostFunc(other.get(), &Number::add, &number);
                     }),
            nullptr);
}

TEST(Graphs, ReturnInEachRunWhatTheyTook) {
  const Gpu gpu(3);
  Memory memory;
  const Stream origin;
  const std::size_t before = bytes_allocated();
  void* kept = nullptr;
  const cudaGraphExec_t graph = captured(origin, [&] {
    void* const array = memory.take(origin);
    cudaMemsetAsync(array, 0, 64, origin.get());
    cudaFreeAsync(array, origin.get());
    kept = memory.take(origin);
    cudaMemsetAsync(kept, 0, 64, origin.get());
  });
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(cudaGraphLaunch(graph, origin.get()), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(origin.get()), cudaSuccess);
    EXPECT_EQ(bytes_allocated(), before + 64);  // what the graph keeps, of which the next run gives back its own
  }
  EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
  EXPECT_EQ(bytes_allocated(), before);
}

TEST(Graphs, DoNotWaitForWhatWasRecordedBeforeThem) {
  const Gpu gpu(0);
  const Stream origin, other;
  const Event before;
  before.record(other);
  EXPECT_EQ(cudaStreamBeginCapture(origin.get(), cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(origin.get(), before.get(), 0), cudaErrorLaunchFailure);
  EXPECT_THAT(Device::current().failure(), HasSubstr("a captured stream waits for an event of before"));
}

}  // namespace
}  // namespace emulated_gpu
