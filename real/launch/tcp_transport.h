// real/launch/tcp_transport.h -- channels between processes: one TCP connection for each pair of ranks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "real/launch/connection.h"
#include "real/launch/tcp_store.h"
#include "real/launch/transport.h"
#include "real/launch/wake.h"

namespace real {

/// A thread reads whatever comes, so that senders get rid of their bytes though nobody has asked for them here yet.
class TcpTransport final : public Transport {
 public:
  /// Finds the others through `store`, connects to the lower ranks and is called by the higher ones.
  TcpTransport(TcpStore& store, const Identity&, base::Seconds patience);
  ~TcpTransport() override;

  void send(int to, Channel channel, std::span<const std::byte> bytes) override;

 private:
  void call_lower(const std::vector<std::string>& addresses, const Identity&, Deadline);
  void hear_higher(const Socket& listener, const Identity&, Deadline);
  void progress();
  void serve(int peer);

  std::mutex guard_;                                // of the connections
  std::vector<std::unique_ptr<Connection>> peers_;  // by rank; none for this one
  Wake wake_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace real
