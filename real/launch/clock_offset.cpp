// SPDX-License-Identifier: Apache-2.0
#include "real/launch/clock_offset.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>

namespace real {
namespace {

constexpr int kMessages = 20;

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}
std::string text(const Blob& blob) { return {reinterpret_cast<const char*>(blob.data()), blob.size()}; }

/// Rank 0's part: its machine, then its clock for each message.
void answer(World& world, Channel channel, const HostClock& clock, int rank) {
  world.transport->send(rank, channel, bytes(clock.machine));
  for (int i = 0; i < kMessages; ++i) {
    world.transport->receive(rank, channel, world.patience.message);
    const std::int64_t now = clock.now();
    world.transport->send(rank, channel, std::as_bytes(std::span(&now, 1)));
  }
}

}  // namespace

HostClock host_clock() {
  HostClock out;
  out.now = [] {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::int64_t{std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
  };
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), out.machine);
  return out;
}

ClockOffset clock_offset(World& world, Channel channel, const HostClock& clock) {
  if (world.identity.rank == 0) {
    for (int rank = 1; rank < world.identity.world; ++rank) answer(world, channel, clock, rank);
    return {};
  }
  const std::string first = text(world.transport->receive(0, channel, world.patience.message));
  const bool same = !first.empty() && first == clock.machine;
  ClockOffset out;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kMessages; ++i) {
    const std::int64_t sent = clock.now();
    world.transport->send(0, channel, {});
    std::int64_t there = 0;
    world.transport->receive_into(0, channel, std::as_writable_bytes(std::span(&there, 1)), world.patience.message);
    const std::int64_t back = clock.now(), took = back - sent;
    if (took >= least) continue;
    least = took;
    out = {there - (sent + took / 2), took / 2 + 1};
  }
  return same ? ClockOffset{} : out;
}

ClockOffset between(const ClockOffset& before, const ClockOffset& after) {
  const std::int64_t apart = after.ns - before.ns;
  return {before.ns + apart / 2, std::max(before.uncertainty_ns, after.uncertainty_ns) + (std::abs(apart) + 1) / 2};
}

}  // namespace real
