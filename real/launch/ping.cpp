// SPDX-License-Identifier: Apache-2.0
#include "real/launch/ping.h"

#include <fmt/format.h>

#include <set>

#include "core/base/fault.h"

namespace real {
namespace {

constexpr Channel kPing = 0;

/// A pattern that depends on both ends, so that a message that went astray is noticed.
Blob pattern(int from, int to, std::size_t bytes) {
  Blob out(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    out[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(from * 31 + to));
  return out;
}

}  // namespace

std::string ping(World& world, std::size_t bytes) {
  const Identity& self = world.identity;
  const auto hosts = world.store->gather("ping-host", self.host, world.patience.join);
  world.store->barrier("ping", world.patience.join);
  for (int to = 0; to < self.world; ++to) world.transport->send(to, kPing, pattern(self.rank, to, bytes));
  for (int from = 0; from < self.world; ++from) {
    if (world.transport->receive(from, kPing, world.patience.message) == pattern(from, self.rank, bytes)) continue;
    throw base::DeviceError(fmt::format("what rank {} sent to rank {} arrived changed", from, self.rank));
  }
  const std::size_t machines = std::set(hosts.begin(), hosts.end()).size();
  return fmt::format("{} rank{} by {} on {} machine{}, {} bytes from each to each", self.world,
                     self.world == 1 ? "" : "s", self.launcher, machines, machines == 1 ? "" : "s", bytes);
}

}  // namespace real
