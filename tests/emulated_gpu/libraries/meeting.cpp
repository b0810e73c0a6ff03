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

bool is_message(Kind kind) { return kind == Kind::send || kind == Kind::receive; }

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

void Meeting::break_up(const std::string& why) {
  const std::lock_guard lock(guard_);
  if (broken_.empty()) broken_ = why;
}

void Meeting::bring(int rank, const Call& call, Bytes bytes) {
  const std::lock_guard lock(guard_);
  if (!broken_.empty()) throw Fault(broken_);
  if (call.kind == Kind::receive) return;
  if (call.kind == Kind::send) {
    messages_[{rank, call.peer, call.number}] = {call, std::move(bytes), false};
    return;
  }
  Collective& all = collectives_[call.number];
  if (all.brought.empty()) {
    all.first = call;
    all.brought.resize(static_cast<std::size_t>(ranks_));
  }
  const Call& first = all.first;
  const bool same = first.kind == call.kind && first.count == call.count && first.type == call.type &&
                    first.sum == call.sum && first.peer == call.peer;
  if (!same) throw Fault("ranks call different things: " + text_of(first) + ", and " + text_of(call));
  all.brought[static_cast<std::size_t>(rank)] = std::move(bytes);
}

std::optional<Bytes> Meeting::result(int rank, const Call& call) {
  const std::lock_guard lock(guard_);
  if (!broken_.empty()) throw Fault(broken_);
  if (is_message(call.kind)) {
    const bool sends = call.kind == Kind::send;
    const auto found =
        messages_.find(sends ? std::tuple{rank, call.peer, call.number} : std::tuple{call.peer, rank, call.number});
    if (found == messages_.end()) return std::nullopt;
    Message& message = found->second;
    if (sends) {
      if (!message.taken) return std::nullopt;
      messages_.erase(found);
      return Bytes{};
    }
    if (message.taken) return std::nullopt;
    if (message.call.count != call.count || message.call.type != call.type) {
      throw Fault("what is sent is not what is received: " + text_of(message.call) + ", and " + text_of(call));
    }
    message.taken = true;
    return std::move(message.bytes);
  }
  const auto found = collectives_.find(call.number);
  Collective& all = found->second;
  if (!std::ranges::all_of(all.brought, [](const auto& one) { return one.has_value(); })) return std::nullopt;
  Bytes out;
  if (call.kind == Kind::all_gather) {
    for (const auto& one : all.brought) out.insert(out.end(), one->begin(), one->end());
  } else if (call.kind == Kind::broadcast) {
    out = *all.brought[static_cast<std::size_t>(call.peer)];
  } else {
    out = *all.brought.front();
    for (std::size_t i = 1; i < all.brought.size(); ++i) add(*all.brought[i], out, call.type, call.sum);
    if (call.kind == Kind::reduce_scatter) {
      const auto piece = static_cast<std::ptrdiff_t>(bytes_to(call, rank, ranks_));
      out = {out.begin() + rank * piece, out.begin() + (rank + 1) * piece};
    }
  }
  if (++all.left == ranks_) collectives_.erase(found);
  out.resize(bytes_to(call, rank, ranks_));
  return out;
}

Meeting::Split Meeting::split(int rank, std::uint64_t number, int color, int key) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::unique_lock lock(guard_);
  splits_[number].places.push_back({color, key, rank});
  while (splits_[number].places.size() < static_cast<std::size_t>(ranks_)) {
    if (std::chrono::steady_clock::now() > end) throw Fault("a rank does not come to split a communicator");
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock.lock();
  }
  if (color == NCCL_SPLIT_NOCOLOR) return {};
  std::vector<Place> mine;
  std::ranges::copy_if(splits_[number].places, std::back_inserter(mine),
                       [&](const Place& p) { return p.color == color; });
  std::ranges::sort(mine, {}, [](const Place& p) { return std::pair{p.key, p.rank}; });
  const auto self = std::ranges::find(mine, rank, &Place::rank);
  std::shared_ptr<Meeting>& meeting = splits_[number].meetings[color];
  if (!meeting) meeting = std::make_shared<Meeting>(static_cast<int>(mine.size()));
  return {meeting, static_cast<int>(self - mine.begin())};
}

}  // namespace emulated_gpu
