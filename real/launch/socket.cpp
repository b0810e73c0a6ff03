// SPDX-License-Identifier: Apache-2.0
#include "real/launch/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include "core/base/fault.h"

namespace real {
namespace {

constexpr base::Seconds kEachAddress = base::s(3);  // a second SYN, behind 1 s, is lost as well

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

std::string reason(int error) { return std::generic_category().message(error); }

void set_option(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

/// Small messages go at once; a machine that vanished without a word is noticed within some 20 seconds.
void prepare(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 20'000);
}

/// A listening socket of one family; the error number instead when that failed.
Socket listen_in(int family, int port, int& error) {
  Socket out(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  error = errno;
  if (!out) return out;
  set_option(out.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_storage address{};
  socklen_t length = 0;
  if (family == AF_INET6) {
    set_option(out.fd(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    length = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    length = sizeof v4;
  }
  if (bind(out.fd(), reinterpret_cast<sockaddr*>(&address), length) == 0 && listen(out.fd(), 1024) == 0) return out;
  error = errno;
  return {};
}

/// One try; the error number instead when that failed.
Socket connect_once(const addrinfo& to, Deadline until, int& error) {
  Socket out(socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to.ai_protocol));
  error = errno;
  if (!out) return out;
  if (connect(out.fd(), to.ai_addr, to.ai_addrlen) != 0) {
    error = errno;
    if (error != EINPROGRESS) return {};
    pollfd ready{out.fd(), POLLOUT, 0};
    error = ETIMEDOUT;
    if (poll(&ready, 1, until.milliseconds_left()) <= 0) return {};
    socklen_t length = sizeof error;
    getsockopt(out.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return {};
  }
  prepare(out.fd());
  return out;
}

/// One try at every address of the name, as try_each().
Socket try_all(const std::string& host, int port, Deadline until, std::string& problem) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found)) {
    problem = gai_strerror(error);
    return {};
  }
  const Addresses addresses(found, &freeaddrinfo);
  return try_each(found, until, problem);
}

}  // namespace

Socket try_each(const addrinfo* addresses, Deadline until, std::string& problem) {
  for (const addrinfo* to = addresses; to != nullptr; to = to->ai_next) {
    int error = 0;
    if (Socket out = connect_once(*to, until.sooner(Deadline::in(kEachAddress)), error)) return out;
    problem = reason(error);
  }
  return {};
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Socket listen_on(int port) {
  int error = 0;
  Socket out = listen_in(AF_INET6, port, error);
  if (!out && error != EADDRINUSE) out = listen_in(AF_INET, port, error);  // a machine without IPv6
  if (!out) {
    throw base::DeviceError(fmt::format("cannot listen on port {}: {}{}", port, reason(error),
                                        error == EADDRINUSE ? "; set MASTER_PORT to a free one" : ""));
  }
  return out;
}

int port_of(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

Socket accept_from(const Socket& listener, Deadline until) {
  pollfd ready{listener.fd(), POLLIN, 0};
  if (poll(&ready, 1, until.milliseconds_left()) <= 0) return {};
  Socket out(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  if (out) prepare(out.fd());
  return out;
}

Socket connect_to(const std::string& host, int port, Deadline until) {
  for (std::string problem;;) {
    if (Socket out = try_all(host, port, until, problem)) return out;
    if (until.passed()) throw base::DeviceError(fmt::format("cannot reach {}:{}: {}", host, port, problem));
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(50, 1 + until.milliseconds_left())));
  }
}

std::string address_for_others(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length);
  char text[NI_MAXHOST] = {};
  getnameinfo(reinterpret_cast<sockaddr*>(&address), length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  const std::string out = text;
  const bool loopback = out == "::1" || out.starts_with("127.") || out.starts_with("::ffff:127.");
  return loopback ? "" : out;
}

}  // namespace real
