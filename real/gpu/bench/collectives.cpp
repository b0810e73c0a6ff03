// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/bench/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "core/base/fault.h"
#include "core/base/text.h"
#include "real/calibrate/bench.h"
#include "real/calibrate/cost.h"

namespace real {
namespace {

using Json = nlohmann::json;

constexpr int kTogether = 5;             // back to back in a repetition, as nccl-tests has them
constexpr double kMostOfExpected = 100;  // a network of 1 GB/s where 100 are thought of
constexpr const char *kEnd = "end", *kWait = "wait";

/// Buffers of a rank: `bytes` each, whatever part of them the collective uses.
struct Buffers {
  const void* from;
  void* to;
};

void send_and_receive(const Buffers& b, std::size_t each, int peers, ncclComm_t comm, cudaStream_t stream) {
  check(ncclGroupStart(), "ncclGroupStart");
  for (int peer = 0; peer < peers; ++peer) {
    const std::size_t at = static_cast<std::size_t>(peer) * each;
    check(ncclSend(static_cast<const char*>(b.from) + at, each, ncclInt8, peer, comm, stream), "ncclSend");
    check(ncclRecv(static_cast<char*>(b.to) + at, each, ncclInt8, peer, comm, stream), "ncclRecv");
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
}

/// To the next rank, and from the one before.
void shift(const Buffers& b, std::size_t bytes, int rank, int ranks, ncclComm_t comm, cudaStream_t stream) {
  check(ncclGroupStart(), "ncclGroupStart");
  check(ncclSend(b.from, bytes, ncclInt8, (rank + 1) % ranks, comm, stream), "ncclSend");
  check(ncclRecv(b.to, bytes, ncclInt8, (rank + ranks - 1) % ranks, comm, stream), "ncclRecv");
  check(ncclGroupEnd(), "ncclGroupEnd");
}

void enqueue(const CollectiveShape& s, const Buffers& b, const Communicator& group, cudaStream_t stream) {
  const auto bytes = static_cast<std::size_t>(s.bytes), share = bytes / static_cast<std::size_t>(s.ranks);
  const ncclComm_t comm = group.get();
  using Op = CollectiveShape::Op;
  switch (s.op) {
    case Op::all_reduce:
      return check(ncclAllReduce(b.from, b.to, bytes / 2, ncclBfloat16, ncclSum, comm, stream), "ncclAllReduce");
    case Op::all_gather: return check(ncclAllGather(b.from, b.to, share, ncclInt8, comm, stream), "ncclAllGather");
    case Op::reduce_scatter:
      return check(ncclReduceScatter(b.from, b.to, share / 2, ncclBfloat16, ncclSum, comm, stream),
                   "ncclReduceScatter");
    case Op::broadcast: return check(ncclBroadcast(b.from, b.to, bytes, ncclInt8, 0, comm, stream), "ncclBroadcast");
    case Op::all_to_all: return send_and_receive(b, share, s.ranks, comm, stream);
    case Op::send: return shift(b, bytes, group.rank(), s.ranks, comm, stream);
  }
}

}  // namespace

Collectives::Collectives(const World& world, base::Seconds silence)
    : world_(world),
      everyone_(world),
      waiter_(
          world,
          [this] {
            for (const auto& [key, group] : groups_) group.check_async();
          },
          [this] { give_up(); }),
      silence_(silence),
      silent_until_(Deadline::in(silence)) {
  const Identity& me = world.identity;
  const int gpus = me.local_world, node = me.rank / gpus;
  const auto join = [&](int nodes, int of_each) {
    const bool member = node < nodes && me.local_rank < of_each;
    auto group = everyone_.split(member ? std::optional(0) : std::nullopt, me.rank);
    if (group) groups_.emplace(std::pair(nodes * of_each, nodes), std::move(*group));
  };
  for (int nodes = me.world / gpus; nodes >= 2; nodes /= 2) {
    join(nodes, gpus);
    if (gpus > 1) join(nodes, 1);
  }
  for (int ranks = gpus; ranks >= 2; ranks /= 2) join(1, ranks);
}

void Collectives::tell(const std::string& what) {
  world_.store->set("calibrate " + std::to_string(told_++), what);
  silent_until_ = Deadline::in(silence_);
}

std::vector<base::Seconds> Collectives::timed(const CollectiveShape& s, Arena& arena, const Stream& stream,
                                              base::Seconds most) {
  if (!groups_.contains({s.ranks, s.nodes})) throw base::DeviceError("no such group of GPUs runs here");
  if (s.bytes / s.ranks < 2) throw base::DeviceError("less than a number a rank");
  if (3 * s.bytes > arena.bytes()) throw base::DeviceError("needs more memory than is free for it");
  const double fitting = most / (repetition(s) * kTogether);
  const int repetitions = std::clamp(static_cast<int>(fitting), kFewest, kSamples);
  tell(Json{{"shape", to_json(s)}, {"repetitions", repetitions}}.dump());
  try {
    return take_part(s, repetitions, arena, stream);
  } catch (const base::DeviceError& failed) {  // the ranks are no longer at the same point
    throw std::runtime_error(words(s) + ": " + failed.what());
  }
}

void Collectives::end() { tell(kEnd); }

void Collectives::keep_waiting() {
  if (silent_until_.passed()) tell(kWait);
}

/// Each on a thread of its own, as GpuBackend::give_up() has them.
void Collectives::give_up() {
  int device = 0;
  cudaGetDevice(&device);
  std::vector<std::jthread> threads;
  const auto abort = [&](Communicator& one) {
    threads.emplace_back([device, &one] {
      cudaSetDevice(device);
      one.abort();
    });
  };
  for (auto& [key, group] : groups_) abort(group);
  abort(everyone_);
}

/// Rank 0 speaks that often, but for the point that it is at, which takes seconds.
void Collectives::follow(Arena& arena, const Stream& stream) {
  for (;;) {
    const std::string told =
        world_.store->get("calibrate " + std::to_string(told_++), silence_ + world_.patience.message);
    if (told == kEnd) return;
    if (told == kWait) continue;
    const Json point = Json::parse(told);
    const auto shape = std::get<CollectiveShape>(shape_from(point.at("shape")));
    arena.clear();
    if (groups_.contains({shape.ranks, shape.nodes}))
      take_part(shape, point.at("repetitions").get<int>(), arena, stream);
  }
}

std::vector<base::Seconds> Collectives::take_part(const CollectiveShape& s, int repetitions, Arena& arena,
                                                  const Stream& stream) {
  const Communicator& group = groups_.at({s.ranks, s.nodes});
  const Buffers buffers{arena.numbers(s.bytes / 2, Filling::bf16), arena.room(s.bytes)};
  const base::Seconds most = world_.patience.join + repetition(s) * kTogether * kMostOfExpected;
  const Waiter::Limit limit{most, fmt::format("{} did not end within {}: a GPU may not reach another one's memory\n  "
                                              "mend: `forerun measure --gpus N` shows whether NCCL works here at all; "
                                              "try NCCL_P2P_DISABLE=1",
                                              words(s), base::human(most))};
  const Event begin(Event::Kind::timing), end(Event::Kind::timing);
  std::vector<base::Seconds> out;
  for (int i = -2; i < repetitions; ++i) {  // two to warm up
    try {
      const HostCall::Scope held(*world_.call, "a collective that is timed", most);
      // All meet before the clock starts.
      enqueue({CollectiveShape::Op::all_reduce, 2 * s.ranks, s.ranks}, buffers, group, stream.get());
      begin.record(stream);
      for (int j = 0; j < kTogether; ++j) enqueue(s, buffers, group, stream.get());
      end.record(stream);
    } catch (const std::exception& error) {
      waiter_.give_up(error);
      throw;
    }
    waiter_.until(end, limit);
    group.check_async();
    if (i >= 0) out.push_back(elapsed(begin, end) / kTogether);
  }
  return out;
}

}  // namespace real
