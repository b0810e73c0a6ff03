// real/executor/nameless_file.h -- a file on a drive that goes with the process that made it, and moving all of its
// bytes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

namespace real {

/// A handle of a new file in `folder` that has no name there; -1, with errno, where none can be made.
inline int nameless_file(const std::string& folder) {
  std::string name = folder + "/forerun-XXXXXX";
  const int handle = mkostemp(name.data(), O_CLOEXEC);
  if (handle >= 0) unlink(name.c_str());
  return handle;
}

/// Calls moves(done so far), which tells how many bytes the drive took, until all have been. Else fail(errno), or
/// fail(0) where the file ends; it throws.
template <class Moves, class Fail>
void move_all(std::size_t bytes, Moves moves, Fail fail) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t moved = moves(done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) fail(moved < 0 ? errno : 0);
    done += static_cast<std::size_t>(moved);
  }
}

}  // namespace real
