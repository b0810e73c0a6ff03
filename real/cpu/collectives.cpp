// real/cpu/collectives.cpp -- collectives of the CPU backend over a Transport, each by the plainest algorithm: everyone
// sends to everyone concerned. Sums are taken in the order of the group, so that every member gets the same number.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "real/cpu/cpu_backend.h"
#include "real/cpu/memory.h"

namespace real {

using cpu::indices;
using cpu::numbers;

namespace {

/// Of this algorithm alone: a GPU's collectives have no such memory, so no ledger counts it.
Tensor uncounted(std::int64_t count) {
  auto memory = std::make_shared<cpu::Memory>();
  memory->numbers.assign(static_cast<std::size_t>(count), 0);
  return {std::move(memory), 0, count, Meaning::exact};
}

std::span<std::byte> bytes_of(const Tensor& x) {
  return x.meaning == Meaning::index ? std::as_writable_bytes(indices(x)) : std::as_writable_bytes(numbers(x));
}

}  // namespace

void CpuBackend::send(int to, int channel, const Tensor& x) {
  world_.transport->send(to, static_cast<Channel>(channel), bytes_of(x));
}

void CpuBackend::receive(int from, int channel, const Tensor& x) {
  world_.transport->receive_into(from, static_cast<Channel>(channel), bytes_of(x), world_.patience.message);
}

void CpuBackend::all_reduce(const Group& group, Sum sum, const Tensor& x) {
  for (const int rank : group.ranks) send(rank, group.channel, x);
  const Tensor arrived = uncounted(x.count);
  for (int i = 0; i < group.size(); ++i) {
    receive(group.ranks[i], group.channel, i == 0 ? x : arrived);
    if (i == 0) continue;
    const auto to = numbers(x), from = numbers(arrived);
    for (std::size_t j = 0; j < to.size(); ++j) to[j] = sum == Sum::add ? to[j] + from[j] : std::max(to[j], from[j]);
  }
}

void CpuBackend::broadcast(const Group& group, int root, const Tensor& x) {
  if (group.self != root) return receive(group.ranks[root], group.channel, x);
  for (int i = 0; i < group.size(); ++i) {
    if (i != root) send(group.ranks[i], group.channel, x);
  }
}

void CpuBackend::reduce(const Group& group, int root, const Tensor& x) {
  send(group.ranks[root], group.channel, x);
  if (group.self != root) return;
  const Tensor arrived = uncounted(x.count);
  for (int i = 0; i < group.size(); ++i) {
    receive(group.ranks[i], group.channel, i == 0 ? x : arrived);
    if (i > 0) add(arrived, x);
  }
}

void CpuBackend::all_gather(const Group& group, const Tensor& piece, const Tensor& whole) {
  for (const int rank : group.ranks) send(rank, group.channel, piece);
  for (int i = 0; i < group.size(); ++i) {
    receive(group.ranks[i], group.channel, whole.part(i * piece.count, piece.count));
  }
}

void CpuBackend::reduce_scatter(const Group& group, const Tensor& whole, const Tensor& piece) {
  for (int i = 0; i < group.size(); ++i) {
    send(group.ranks[i], group.channel, whole.part(i * piece.count, piece.count));
  }
  const Tensor arrived = uncounted(piece.count);
  fill(piece, 0);
  for (const int rank : group.ranks) {
    receive(rank, group.channel, arrived);
    add(arrived, piece);
  }
}

void CpuBackend::all_to_all(const Group& group, std::span<const std::int64_t> sends, const Tensor& from,
                            std::span<const std::int64_t> receives, const Tensor& to) {
  std::int64_t at = 0;
  for (int i = 0; i < group.size(); at += sends[i++]) send(group.ranks[i], group.channel, from.part(at, sends[i]));
  at = 0;
  for (int i = 0; i < group.size(); at += receives[i++])
    receive(group.ranks[i], group.channel, to.part(at, receives[i]));
}

void CpuBackend::shift(const Group& group, const Tensor& from, const Tensor& to) {
  const int size = group.size();
  send(group.ranks[(group.self + 1) % size], group.channel, from);
  receive(group.ranks[(group.self + size - 1) % size], group.channel, to);
}

}  // namespace real
