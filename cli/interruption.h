// cli/interruption.h -- Ctrl-C asks a search for the best so far; a second one ends the program at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace cli {

/// While it lives. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  const std::atomic<bool>* asked() const;  // true from the first Ctrl-C on
};

}  // namespace cli
