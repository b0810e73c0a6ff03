// SPDX-License-Identifier: Apache-2.0
#include "real/launch/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <thread>

#include "core/base/fault.h"
#include "core/base/text.h"

namespace real {
namespace {

// How often a rank that waits for a message looks whether another one was lost.
constexpr base::Seconds kLook = base::ms(100);
// How long the store may take to say which rank was lost when a connection broke.
constexpr base::Seconds kExplain = base::s(2);

}  // namespace

Blob Transport::receive(int from, Channel channel, base::Seconds patience) {
  assert(from >= 0 && from < world());
  const Deadline end = Deadline::in(patience);
  for (;;) {
    if (auto message = mailbox_.take(from, channel, end.sooner(Deadline::in(kLook)))) return std::move(*message);
    store_.check();
    if (mailbox_.closed(from)) break;
    if (end.passed()) {
      throw base::DeviceError(fmt::format("rank {} waited {} for a message of rank {} on channel {}", rank(),
                                          base::human(patience), from, channel));
    }
  }
  // The peer may have ended because another rank was lost: that one is to be named.
  for (const Deadline known = Deadline::in(kExplain); !known.passed();
       std::this_thread::sleep_for(std::chrono::milliseconds(20)))
    store_.check();
  throw base::DeviceError(
      fmt::format("rank {} closed its connection to rank {} while a message was awaited", from, rank()));
}

void Transport::receive_into(int from, Channel channel, std::span<std::byte> bytes, base::Seconds patience) {
  const Blob message = receive(from, channel, patience);
  if (message.size() != bytes.size()) {
    throw base::DeviceError(fmt::format("rank {} sent {} bytes on channel {} where rank {} expects {}", from,
                                        message.size(), channel, rank(), bytes.size()));
  }
  std::copy(message.begin(), message.end(), bytes.begin());
}

}  // namespace real
