// real/worker/smoke.cpp -- forerun-worker --smoke: does a real run have what it needs here? Memory, copies, the
// recording of operators, NCCL, NVML. Says what was seen; throws at the first that fails.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/fault.h"
#include "core/base/text.h"
#include "real/cuda/communicator.h"
#include "real/cuda/device.h"
#include "real/cuda/pool.h"
#include "real/cupti/collector.h"
#include "real/gpu/condition.h"
#include "real/gpu/waiter.h"
#include "real/launch/watchdog.h"
#include "real/trace/measured.h"
#include "real/worker/command.h"

namespace worker {
namespace {

constexpr std::int64_t kBytes = std::int64_t{64} << 20;

/// One rank's device, and what the checks tell of it.
struct Bench {
  real::World& world;
  real::DeviceFacts device;
  real::Pool& pool;
  const real::Stream& stream;
};

void expect(bool holds, const std::string& otherwise) {
  if (!holds) throw base::DeviceError(otherwise);
}

/// Host to device, device to device, and back: the same bytes. Both copies run as operators of their own, 1 and 2, a
/// fill as 3.
std::string copies(Bench& bench) {
  const auto size = static_cast<std::size_t>(kBytes);
  const real::PinnedBuffer out(size), back(size);
  for (std::size_t i = 0; i < size; ++i)
    static_cast<unsigned char*>(out.data())[i] = static_cast<unsigned char>(i * 31 + i / 4096);
  const auto a = bench.pool.take(plan::Category::activations, kBytes, bench.stream);
  const auto b = bench.pool.take(plan::Category::workspace, kBytes, bench.stream);
  const real::Event begin(real::Event::Kind::timing), end(real::Event::Kind::timing);
  {
    const real::OperatorScope scope(1);
    real::check(cudaMemcpyAsync(a.data(), out.data(), size, cudaMemcpyHostToDevice, bench.stream.get()),
                "cudaMemcpyAsync");
  }
  begin.record(bench.stream);
  {
    const real::OperatorScope scope(2);
    real::check(cudaMemcpyAsync(b.data(), a.data(), size, cudaMemcpyDeviceToDevice, bench.stream.get()),
                "cudaMemcpyAsync");
  }
  end.record(bench.stream);
  {
    const real::OperatorScope scope(3);
    real::check(cudaMemsetAsync(a.data(), 0, size, bench.stream.get()), "cudaMemsetAsync");
  }
  {
    const real::OperatorScope scope(4);
    real::check(cudaMemcpyAsync(back.data(), b.data(), size, cudaMemcpyDeviceToHost, bench.stream.get()),
                "cudaMemcpyAsync");
  }
  bench.stream.synchronize();
  expect(std::memcmp(out.data(), back.data(), size) == 0, "bytes came back from the GPU changed");
  const base::Bytes both(2.0 * static_cast<double>(kBytes));  // read and written
  return fmt::format("copies: as sent; within the GPU {}\n", base::human(both / real::elapsed(begin, end)));
}

/// What copies() launched has to come back under its operators, nothing else, and nothing lost.
std::string recording(const real::Records& records) {
  trace::Trace frame;
  frame.names = {"to device", "within", "fill", "to host"};
  frame.tracks.resize(1);
  std::vector<real::Launched> launched;
  for (int i = 0; i < 4; ++i)
    launched.push_back({.instance = static_cast<real::OperatorInstance>(i + 1), .what = {.name = i}});
  const trace::Trace trace = real::measured(records, launched, std::move(frame));
  return fmt::format("recording: {} records, {} operators, 0 orphans, 0 dropped\n", records.device.size(),
                     trace.tracks[0].spans.size());
}

/// The sum of rank + 1 over a group: of each rank's number from and to page-locked memory, or the copy back would wait
/// for NCCL itself. GPUs that do not reach one another's memory though the driver says so let it wait for ever.
int sum_over(Bench& bench, const real::Communicator& group, const std::string& whom,
             const std::function<void()>& give_up) {
  const base::Seconds patience = bench.world.patience.join;
  const auto buffer = bench.pool.take(plan::Category::communication, sizeof(float), bench.stream);
  const real::PinnedBuffer number(sizeof(float));
  auto& value = *static_cast<float*>(number.data());
  value = static_cast<float>(bench.world.identity.rank + 1);
  const real::Waiter waiter(
      bench.world, [&] { group.check_async(); }, give_up);
  const real::Event done;
  try {
    const real::HostCall::Scope held(*bench.world.call, "NCCL's first sum (NCCL_P2P_DISABLE=1 may help)", patience);
    real::check(cudaMemcpyAsync(buffer.data(), &value, sizeof value, cudaMemcpyHostToDevice, bench.stream.get()),
                "cudaMemcpyAsync");
    real::check(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclFloat, ncclSum, group.get(), bench.stream.get()),
                "ncclAllReduce");
    real::check(cudaMemcpyAsync(&value, buffer.data(), sizeof value, cudaMemcpyDeviceToHost, bench.stream.get()),
                "cudaMemcpyAsync");
    done.record(bench.stream);
  } catch (const std::exception& error) {
    waiter.give_up(error);
    throw;
  }
  waiter.until(done, {patience, fmt::format("NCCL's sum over {} did not end within {}: these GPUs may not reach one "
                                            "another's memory\n  mend: run it again with NCCL_P2P_DISABLE=1, and with "
                                            "NCCL_DEBUG=INFO to see what NCCL chose",
                                            whom, base::human(patience))});
  return static_cast<int>(value);
}

/// The world's sum, and that of pairs of neighbours split from it.
std::string collectives(Bench& bench, real::Communicator world) {
  const int ranks = bench.world.identity.world, rank = bench.world.identity.rank;
  std::optional<real::Communicator> pair;
  const auto give_up = [&] {
    if (pair) pair->abort();
    world.abort();
  };
  expect(sum_over(bench, world, "all ranks", give_up) == ranks * (ranks + 1) / 2, "NCCL's sum over all ranks is wrong");
  const int first = rank / 2 * 2;
  pair = world.split(rank / 2, rank);
  const int expected = first + 1 + (first + 1 < ranks ? first + 2 : 0);
  expect(sum_over(bench, *pair, "a pair of ranks", give_up) == expected, "NCCL's sum over a pair of ranks is wrong");
  return fmt::format("NCCL: sums of {} rank{} and of pairs are right\n", ranks, ranks == 1 ? "" : "s");
}

std::string condition(const Bench& bench) {
  const real::Nvml nvml;
  return fmt::format("condition: driver {}, {}\n", nvml.driver_version(),
                     real::to_string(real::condition_of(bench.device, nvml)));
}

std::string run(real::World& world, const std::vector<std::string>&) {
  const int devices = real::device_count();
  const real::Watchdog watchdog(world);
  const real::DeviceFacts device = real::facts(world.identity.local_rank % devices);
  const bool shared = real::pose_as_machines_if_cards_are_shared(world, device.uuid);
  std::string out = fmt::format("GPU: {}, compute capability {}.{}, {} SMs, {}\n", device.name, device.major,
                                device.minor, device.sms, base::human(device.memory));
  if (shared) out += "ranks share a card: they pose as machines of their own, and no time of this run means anything\n";
  std::optional<real::Collector> collector(std::in_place);
  const real::CurrentDevice current(device.index);
  real::Pool pool(device.index);
  const real::Stream stream;
  Bench bench{world, device, pool, stream};
  out += copies(bench);
  out += recording(collector->take());
  collector.reset();
  out += collectives(bench, real::Communicator(world));
  out += condition(bench);
  out += fmt::format("memory: {} at its highest, {} reserved\n", real::to_string(pool.ledger().at_peak()),
                     base::human(base::Bytes(static_cast<double>(pool.reserved_peak()))));
  return out;
}

}  // namespace

const Command smoke{"--smoke", "checks memory, recording, NCCL and NVML on this machine's GPUs", run};

}  // namespace worker
