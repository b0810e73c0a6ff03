// cli/progress.h -- a progress bar on stderr, for people who wait: only on a terminal, and only after a second.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace cli {

class ProgressBar {
 public:
  /// `what` is counted: "cases".
  explicit ProgressBar(std::string what);
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Draws at most ten times a second. Calls must not overlap.
  void show(std::size_t done, std::size_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  Clock::time_point next_;
  bool on_terminal_, drawn_ = false;
};

}  // namespace cli
