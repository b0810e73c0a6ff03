// real/launch/connection.h -- frames over a socket that does not block: what could not be sent yet waits here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "real/launch/mailbox.h"
#include "real/launch/socket.h"

namespace real {

/// On the wire: tag and length (8 bytes each, little-endian as the machines that run this are), then the payload.
struct Frame {
  std::uint64_t tag = 0;
  Blob payload;
};

class Connection {
 public:
  /// A frame longer than `longest` breaks the connection: it comes from a stranger.
  explicit Connection(Socket socket, std::uint64_t longest = ~0ull) : socket_(std::move(socket)), longest_(longest) {}

  const Socket& socket() const { return socket_; }
  int fd() const { return socket_.fd(); }
  bool open() const { return open_; }
  void accept_any_length() { longest_ = ~0ull; }

  void queue(Frame frame) { out_.push_back(std::move(frame)); }
  bool wants_to_write() const { return open_ && !out_.empty(); }

  /// Sends what the socket takes without waiting. The connection is closed when the other side has gone.
  void write_some();
  /// The frames that have arrived whole. The connection is closed when the other side has gone; frames before that
  /// still come out.
  std::vector<Frame> read_some();

  /// Waits until all is written, or for the next frame; false or nothing when the deadline passed or the connection
  /// closed.
  bool flush(Deadline);
  std::optional<Frame> next(Deadline);

 private:
  struct Header {
    std::uint64_t tag, length;
  };
  /// Reads up to `size` bytes; 0 when none are there at present or the connection closed.
  std::size_t read_into(void* to, std::size_t size);

  Socket socket_;
  std::uint64_t longest_;
  bool open_ = true;
  std::deque<Frame> out_;
  std::size_t written_ = 0;  // of the first frame, its header included
  Header header_{};
  std::size_t read_ = 0;  // of the frame that is arriving, its header included
  Blob body_;
  std::deque<Frame> in_;  // for next(): whole frames that came together
};

}  // namespace real
