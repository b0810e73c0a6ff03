// real/launch/wake.h -- rouses a thread that polls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "real/launch/socket.h"

namespace real {

class Wake {
 public:
  int fd() const { return event_.fd(); }  // readable once ring() was called
  void ring() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t done = write(fd(), &one, sizeof one);
  }
  void hear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t done = read(fd(), &count, sizeof count);
  }

 private:
  Socket event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

}  // namespace real
