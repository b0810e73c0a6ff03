// SPDX-License-Identifier: Apache-2.0
#include "real/launch/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace real {
namespace {

// So that one busy connection does not keep the others waiting.
constexpr std::size_t kAtOnce = 64;

bool try_again(ssize_t done) { return done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR); }

}  // namespace

void Connection::write_some() {
  while (wants_to_write()) {
    Frame& first = out_.front();
    Header header{first.tag, first.payload.size()};
    const std::size_t of_header = std::min(written_, sizeof header), of_body = written_ - of_header;
    iovec parts[2] = {{reinterpret_cast<char*>(&header) + of_header, sizeof header - of_header},
                      {first.payload.data() + of_body, first.payload.size() - of_body}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t done = sendmsg(fd(), &message, MSG_NOSIGNAL);
    if (try_again(done)) return;
    if (done < 0) {
      open_ = false;
      return;
    }
    written_ += static_cast<std::size_t>(done);
    if (written_ == sizeof header + first.payload.size()) {
      out_.pop_front();
      written_ = 0;
    }
  }
}

std::size_t Connection::read_into(void* to, std::size_t size) {
  const ssize_t done = recv(fd(), to, size, 0);
  if (done > 0) return static_cast<std::size_t>(done);
  if (!try_again(done)) open_ = false;
  return 0;
}

std::vector<Frame> Connection::read_some() {
  std::vector<Frame> whole;
  while (open_ && whole.size() < kAtOnce) {
    if (read_ < sizeof(Header)) {
      const std::size_t got = read_into(reinterpret_cast<char*>(&header_) + read_, sizeof(Header) - read_);
      if (got == 0) break;
      read_ += got;
      if (read_ < sizeof(Header)) continue;
      if (header_.length > longest_) {
        open_ = false;
        break;
      }
      body_.resize(header_.length);
    }
    const std::size_t of_body = read_ - sizeof(Header);
    if (of_body < body_.size()) {
      const std::size_t got = read_into(body_.data() + of_body, body_.size() - of_body);
      if (got == 0) break;
      read_ += got;
    }
    if (read_ == sizeof(Header) + body_.size()) {
      whole.push_back({header_.tag, std::exchange(body_, {})});
      read_ = 0;
    }
  }
  return whole;
}

bool Connection::flush(Deadline until) {
  while (wants_to_write()) {
    write_some();
    if (!wants_to_write()) break;
    if (until.passed()) return false;
    pollfd ready{fd(), POLLOUT, 0};
    poll(&ready, 1, until.milliseconds_left());
  }
  return open_;
}

std::optional<Frame> Connection::next(Deadline until) {
  while (in_.empty()) {
    for (Frame& frame : read_some()) in_.push_back(std::move(frame));
    if (!in_.empty()) break;
    if (!open_ || until.passed()) return std::nullopt;
    pollfd ready{fd(), POLLIN, 0};
    poll(&ready, 1, until.milliseconds_left());
  }
  Frame first = std::move(in_.front());
  in_.pop_front();
  return first;
}

}  // namespace real
