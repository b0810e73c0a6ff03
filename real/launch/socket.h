// real/launch/socket.h -- TCP sockets as values: they close themselves, and every wait has a deadline.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "real/launch/deadline.h"

struct addrinfo;

namespace real {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Listens on `port` of every address of this machine; 0 takes a free one. Throws base::DeviceError, with what to do
/// when the port is taken.
Socket listen_on(int port);
int port_of(const Socket&);

/// The next connection, which does not block; none when the deadline passed.
Socket accept_from(const Socket& listener, Deadline);

/// One try at each of a name's addresses (netdb.h), for 3 s at most: a machine with several may not be reached by the
/// first, from which nothing comes back. None: `problem` says why the last could not be reached.
Socket try_each(const addrinfo* addresses, Deadline, std::string& problem);

/// Keeps trying until the deadline: the other side may not have started yet. The connection does not block. Throws
/// base::DeviceError that says why the last try failed.
Socket connect_to(const std::string& host, int port, Deadline);

/// This end's numeric address; empty for a loopback one, which means nothing to other machines.
std::string address_for_others(const Socket&);

}  // namespace real
