// real/launch/transport.h -- bytes from rank to rank: what collectives without NCCL are made of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"
#include "real/launch/mailbox.h"
#include "real/launch/store.h"

namespace real {

/// One rank's end of the mesh between all ranks. Any thread may call any function at any time.
///
/// send() only hands the bytes over and never waits for the receiver, so ranks that all send first and receive later do
/// not block one another, whatever the size; what was not received yet is held in memory. Messages of one sender on one
/// channel arrive in the order sent; different channels do not wait for one another.
class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  int rank() const { return store_.rank(); }
  int world() const { return store_.world(); }

  /// Copies `bytes` and returns. `to` may be this rank. REQUIRES: 0 <= to < world()
  virtual void send(int to, Channel channel, std::span<const std::byte> bytes) = 0;

  /// The next message of `from` on `channel`. Throws base::DeviceError when none came in time, or when a rank was lost.
  Blob receive(int from, Channel channel, base::Seconds patience);
  /// The same into a buffer of the length that was sent; another length is a base::DeviceError too.
  void receive_into(int from, Channel channel, std::span<std::byte> bytes, base::Seconds patience);

 protected:
  explicit Transport(Store& store) : store_(store), mailbox_(store.world()) {}

  Store& store_;     // outlives this
  Mailbox mailbox_;  // what has arrived here
};

}  // namespace real
