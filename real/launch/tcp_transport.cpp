// SPDX-License-Identifier: Apache-2.0
#include "real/launch/tcp_transport.h"

#include <fmt/format.h>
#include <poll.h>

#include <cassert>
#include <sstream>

#include "core/base/fault.h"

namespace real {
namespace {

constexpr std::uint64_t kHello = 0x666f72657275'6e02;
constexpr std::uint64_t kLongestHello = 4096;
constexpr base::Seconds kHelloTime = base::s(5);

Blob bytes_of(const std::string& text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return Blob(first, first + text.size());
}

/// "3 job": who calls, and for which job.
Blob greeting(const Identity& identity) { return bytes_of(fmt::format("{} {}", identity.rank, identity.job)); }

/// The rank that greets; -1 for a stranger.
int greeted(const Frame& frame, const Identity& identity) {
  if (frame.tag != kHello) return -1;
  for (int rank = identity.rank + 1; rank < identity.world; ++rank) {
    if (frame.payload == bytes_of(fmt::format("{} {}", rank, identity.job))) return rank;
  }
  return -1;
}

}  // namespace

TcpTransport::TcpTransport(TcpStore& store, const Identity& identity, base::Seconds patience)
    : Transport(store), peers_(static_cast<std::size_t>(identity.world)) {
  const Deadline end = Deadline::in(patience);
  const Socket listener = listen_on(0);
  const auto addresses = store.gather("transport", fmt::format("{} {}", port_of(listener), store.address()), patience);
  call_lower(addresses, identity, end);
  hear_higher(listener, identity, end);
  store.barrier("transport", patience);  // no message comes before every greeting was heard
  thread_ = std::thread([this] { progress(); });
}

TcpTransport::~TcpTransport() {
  stopping_ = true;
  wake_.ring();
  if (thread_.joinable()) thread_.join();
}

void TcpTransport::call_lower(const std::vector<std::string>& addresses, const Identity& identity, Deadline end) {
  for (int to = 0; to < identity.rank; ++to) {
    std::istringstream address(addresses[static_cast<std::size_t>(to)]);
    int port = 0;
    std::string host;
    address >> port >> host;
    if (host.empty()) host = identity.store_host;  // a machine that reaches the store by its loopback is the store's
    auto& peer = peers_[static_cast<std::size_t>(to)];
    peer = std::make_unique<Connection>(connect_to(host, port, end));
    peer->queue({kHello, greeting(identity)});
    peer->flush(end);
  }
}

void TcpTransport::hear_higher(const Socket& listener, const Identity& identity, Deadline end) {
  for (int missing = identity.world - 1 - identity.rank; missing > 0;) {
    Socket socket = accept_from(listener, end);
    if (!socket) {
      store_.check();
      if (!end.passed()) continue;
      throw base::DeviceError(fmt::format("rank {} was not called by {} of the higher ranks", identity.rank, missing));
    }
    auto caller = std::make_unique<Connection>(std::move(socket), kLongestHello);
    const auto hello = caller->next(end.sooner(Deadline::in(kHelloTime)));
    const int rank = hello ? greeted(*hello, identity) : -1;
    if (rank < 0 || peers_[static_cast<std::size_t>(rank)]) continue;  // a stranger
    caller->accept_any_length();
    peers_[static_cast<std::size_t>(rank)] = std::move(caller);
    --missing;
  }
}

void TcpTransport::send(int to, Channel channel, std::span<const std::byte> bytes) {
  assert(to >= 0 && to < world());
  Blob message(bytes.begin(), bytes.end());
  if (to == rank()) return mailbox_.post(to, channel, std::move(message));
  const std::lock_guard lock(guard_);
  Connection& peer = *peers_[static_cast<std::size_t>(to)];
  peer.queue({channel, std::move(message)});
  peer.write_some();
  if (peer.wants_to_write()) wake_.ring();
}

void TcpTransport::progress() {
  std::vector<pollfd> polled;
  while (!stopping_) {
    polled.assign({{wake_.fd(), POLLIN, 0}});
    {
      const std::lock_guard lock(guard_);
      for (const auto& peer : peers_) {
        if (!peer || !peer->open()) continue;
        polled.push_back({peer->fd(), static_cast<short>(POLLIN | (peer->wants_to_write() ? POLLOUT : 0)), 0});
      }
    }
    poll(polled.data(), polled.size(), -1);
    if (polled[0].revents != 0) wake_.hear();
    for (int peer = 0; peer < world(); ++peer) serve(peer);
  }
}

/// Writes and reads what is possible now.
void TcpTransport::serve(int rank) {
  const std::lock_guard lock(guard_);
  Connection* const peer = peers_[static_cast<std::size_t>(rank)].get();
  if (!peer || mailbox_.closed(rank)) return;
  peer->write_some();
  for (Frame& frame : peer->read_some()) mailbox_.post(rank, static_cast<Channel>(frame.tag), std::move(frame.payload));
  if (!peer->open()) mailbox_.close(rank);
}

}  // namespace real
