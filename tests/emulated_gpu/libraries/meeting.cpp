// tests/emulated_gpu/libraries/meeting.cpp -- see meeting.h. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/libraries/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/libraries/number.h"

namespace emulated_gpu {
namespace {

constexpr auto kPatience = std::chrono::minutes(1);

template <class T>
void add_up(const Bytes& x, Bytes& sum, ncclRedOp_t op) {
  for (std::size_t at = 0; at < sum.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, sum.data() + at, sizeof(T));
    std::memcpy(&b, x.data() + at, sizeof(T));
    a = op == ncclMax ? std::max(a, b) : static_cast<T>(a + b);
    std::memcpy(sum.data() + at, &a, sizeof(T));
  }
}

/// Each sum is rounded to the type, as from hop to hop of a ring.
void add(const Bytes& x, Bytes& sum, ncclDataType_t type, ncclRedOp_t op) {
  switch (type) {
    case ncclFloat: return add_up<float>(x, sum, op);
    case ncclDouble: return add_up<double>(x, sum, op);
    case ncclInt32: return add_up<std::int32_t>(x, sum, op);
    case ncclBfloat16:
      for (std::size_t i = 0; i < sum.size() / 2; ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const float a = load(sum.data(), at, CUDA_R_16BF), b = load(x.data(), at, CUDA_R_16BF);
        store(op == ncclMax ? std::max(a, b) : a + b, sum.data(), at, CUDA_R_16BF);
      }
      return;
    default: throw Fault("a reduction of a type that is not emulated");
  }
}

}  // namespace

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclBfloat16: return 2;
    case ncclFloat:
    case ncclInt32: return 4;
    case ncclDouble: return 8;
    default: throw Fault("NCCL's data of a type that is not emulated");
  }
}

std::string text_of(const Call& c) {
  constexpr std::array kNames{"an all-reduce",    "a broadcast", "a reduce", "an all-gather",
                              "a reduce-scatter", "a send",      "a receive"};
  return fmt::format("{} of {} x {} bytes, number {}", kNames[static_cast<std::size_t>(c.kind)], c.count,
                     bytes_of(c.type), c.number);
}

std::size_t bytes_from(const Call& c, int rank, int ranks) {
  if (c.kind == Kind::receive || (c.kind == Kind::broadcast && rank != c.peer)) return 0;
  return c.count * bytes_of(c.type) * static_cast<std::size_t>(c.kind == Kind::reduce_scatter ? ranks : 1);
}
std::size_t bytes_to(const Call& c, int rank, int ranks) {
  if (c.kind == Kind::send || (c.kind == Kind::reduce && rank != c.peer)) return 0;
  return c.count * bytes_of(c.type) * static_cast<std::size_t>(c.kind == Kind::all_gather ? ranks : 1);
}

void expect_same(const Call& a, const Call& b) {
  const bool same = a.kind == b.kind && a.count == b.count && a.type == b.type && a.sum == b.sum && a.peer == b.peer;
  if (!same) throw Fault("ranks call different things: " + text_of(a) + ", and " + text_of(b));
}

void expect_fits(const Call& sent, const Call& received) {
  if (sent.count != received.count || sent.type != received.type) {
    throw Fault("what is sent is not what is received: " + text_of(sent) + ", and " + text_of(received));
  }
}

Bytes result_of(const Call& call, int rank, const std::vector<Bytes>& brought) {
  const auto ranks = static_cast<int>(brought.size());
  Bytes out;
  if (call.kind == Kind::all_gather) {
    for (const Bytes& one : brought) out.insert(out.end(), one.begin(), one.end());
  } else if (call.kind == Kind::broadcast) {
    out = brought[static_cast<std::size_t>(call.peer)];
  } else {
    out = brought.front();
    for (std::size_t i = 1; i < brought.size(); ++i) add(brought[i], out, call.type, call.sum);
    if (call.kind == Kind::reduce_scatter) {
      const auto piece = static_cast<std::ptrdiff_t>(bytes_to(call, rank, ranks));
      out = {out.begin() + rank * piece, out.begin() + (rank + 1) * piece};
    }
  }
  out.resize(bytes_to(call, rank, ranks));
  return out;
}

std::vector<Meeting::Place> Meeting::gather(std::uint64_t number, const Place& own) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  come(number, own);
  std::vector<Place> all = places(number);
  for (; all.size() < static_cast<std::size_t>(ranks_); all = places(number)) {
    if (std::chrono::steady_clock::now() > end) throw Fault("a rank does not come to a communicator");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return all;
}

Meeting::Split Meeting::split(int rank, std::uint64_t number, int color, int key) {
  std::vector<Place> all = gather(number, {color, key, rank});
  if (color == NCCL_SPLIT_NOCOLOR) return {};
  std::erase_if(all, [&](const Place& p) { return p.color != color; });
  std::ranges::sort(all, {}, [](const Place& p) { return std::pair{p.key, p.rank}; });
  const auto self = std::ranges::find(all, rank, &Place::rank);
  return {part(number, color, static_cast<int>(all.size())), static_cast<int>(self - all.begin())};
}

}  // namespace emulated_gpu
