// real/gpu/collectives.cpp -- the GPU backend's collectives, by NCCL on the communicator of their channel.
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "real/gpu/gpu_backend.h"
#include "real/measure/element.h"

namespace real {
namespace {

ncclDataType_t type_of(Meaning meaning) {
  switch (meaning) {
    case Meaning::activation: return ncclBfloat16;
    case Meaning::exact: return ncclFloat;
    case Meaning::sum: return ncclDouble;
    case Meaning::index: return ncclInt32;
    case Meaning::code: return ncclUint8;
  }
  return ncclFloat;
}

std::size_t count(const Tensor& t) { return static_cast<std::size_t>(t.count); }

/// Sends and receives of a scope start together, so that none waits for one behind it.
class Together {
 public:
  Together() { check(ncclGroupStart(), "ncclGroupStart"); }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;
  ~Together() {
    if (!ended_) ncclGroupEnd();
  }
  void end() {
    ended_ = true;
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

 private:
  bool ended_ = false;
};

}  // namespace

ncclComm_t GpuBackend::communicator(int channel) const {
  const auto& found = communicators_.at(static_cast<std::size_t>(channel));
  if (!found) throw std::logic_error("a rank meets others on a channel of which it is no member");
  return found->get();
}

/// NCCL connects two ranks at their first message and keeps the host until both have called: first messages of a Plan
/// that cross on two channels (DualPipe's) would keep two hosts for ever. Of collectives it connects what a small one
/// takes; larger ones connect in the step, which all ranks enter in one order.
void GpuBackend::connect() {
  const Tensor one = allocate(1, kNumbers);
  fill(one, 0);
  for (std::size_t i = 0; i < memberships_.size(); ++i) {
    const Membership& members = memberships_[i];
    if (!communicators_[i] || members.ranks.size() < 2) continue;
    const int channel = static_cast<int>(i);
    launch([&] {
      if (!members.one_way) {
        check(ncclAllReduce(at(one), at(one), 1, ncclFloat, ncclSum, communicator(channel), raw()), "ncclAllReduce");
      } else if (members.key == 0) {
        put_in(channel, 1, one);
      } else {
        take_out(channel, 0, one);
      }
    });
    host_waits();
  }
}

int GpuBackend::place_of(int channel, int rank) const {
  return memberships_[static_cast<std::size_t>(channel)].place_of(rank);
}

void GpuBackend::put_in(int channel, int peer, const Tensor& x) {
  check(ncclSend(at(x), count(x), type_of(x.meaning), peer, communicator(channel), raw()), "ncclSend");
}

void GpuBackend::take_out(int channel, int peer, const Tensor& x) {
  check(ncclRecv(at(x), count(x), type_of(x.meaning), peer, communicator(channel), raw()), "ncclRecv");
}

void GpuBackend::all_reduce(const Group& group, Sum sum, const Tensor& x) {
  if (group.size() == 1 || x.count == 0) return;
  launch([&] {
    check(ncclAllReduce(at(x), at(x), count(x), type_of(x.meaning), sum == Sum::add ? ncclSum : ncclMax,
                        communicator(group.channel), raw()),
          "ncclAllReduce");
  });
}

// NCCL does nothing for no elements: then no operator is told to have launched.

void GpuBackend::broadcast(const Group& group, int root, const Tensor& x) {
  if (x.count == 0) return;
  launch([&] {
    check(ncclBroadcast(at(x), at(x), count(x), type_of(x.meaning), place_of(group.channel, group.ranks[root]),
                        communicator(group.channel), raw()),
          "ncclBroadcast");
  });
}

void GpuBackend::reduce(const Group& group, int root, const Tensor& x) {
  if (x.count == 0) return;
  launch([&] {
    check(ncclReduce(at(x), at(x), count(x), type_of(x.meaning), ncclSum, place_of(group.channel, group.ranks[root]),
                     communicator(group.channel), raw()),
          "ncclReduce");
  });
}

void GpuBackend::all_gather(const Group& group, const Tensor& piece, const Tensor& whole) {
  if (piece.count == 0) return;
  launch([&] {
    check(ncclAllGather(at(piece), at(whole), count(piece), type_of(piece.meaning), communicator(group.channel), raw()),
          "ncclAllGather");
  });
}

void GpuBackend::reduce_scatter(const Group& group, const Tensor& whole, const Tensor& piece) {
  if (piece.count == 0) return;
  launch([&] {
    check(ncclReduceScatter(at(whole), at(piece), count(piece), type_of(piece.meaning), ncclSum,
                            communicator(group.channel), raw()),
          "ncclReduceScatter");
  });
}

// A message of no elements is none on either side, whatever else the two have for others: NCCL sets up what two ranks
// exchange through at their first message, which then both of them have to ask for.

void GpuBackend::all_to_all(const Group& group, std::span<const std::int64_t> sends, const Tensor& from,
                            std::span<const std::int64_t> receives, const Tensor& to) {
  if (from.count == 0 && to.count == 0) return;
  std::int64_t sent = 0, received = 0;
  launch([&] {
    Together together;
    for (int i = 0; i < group.size(); ++i) {
      const int peer = place_of(group.channel, group.ranks[i]);
      const Tensor out = from.part(sent, sends[i]), in = to.part(received, receives[i]);
      if (out.count > 0) put_in(group.channel, peer, out);
      if (in.count > 0) take_out(group.channel, peer, in);
      sent += sends[i];
      received += receives[i];
    }
    together.end();
  });
}

void GpuBackend::shift(const Group& group, const Tensor& from, const Tensor& to) {
  const int size = group.size(), next = group.ranks[(group.self + 1) % size];
  const int before = group.ranks[(group.self + size - 1) % size];
  if (from.count == 0 && to.count == 0) return;
  launch([&] {
    Together together;
    if (from.count > 0) put_in(group.channel, place_of(group.channel, next), from);
    if (to.count > 0) take_out(group.channel, place_of(group.channel, before), to);
    together.end();
  });
}

void GpuBackend::send(int to, int channel, const Tensor& x) {
  if (x.count > 0) launch([&] { put_in(channel, place_of(channel, to), x); });
}

void GpuBackend::receive(int from, int channel, const Tensor& x) {
  if (x.count > 0) launch([&] { take_out(channel, place_of(channel, from), x); });
}

}  // namespace real
