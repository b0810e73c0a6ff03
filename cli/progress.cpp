// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "core/base/text.h"
#include "reports/layout.h"

namespace cli {
namespace {

constexpr std::chrono::milliseconds kPatience{1000}, kBetweenDrawings{100};
constexpr int kWidth = 30;

}  // namespace

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), next_(Clock::now() + kPatience), on_terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::cerr << "\r\033[K" << std::flush;
}

void ProgressBar::show(std::size_t done, std::size_t total) {
  if (!on_terminal_ || total == 0) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kBetweenDrawings;
  drawn_ = true;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  std::cerr << fmt::format("\r{} {} of {} {}\033[K", reports::gauge(share, kWidth),
                           base::with_commas(static_cast<long long>(done)),
                           base::with_commas(static_cast<long long>(total)), what_)
            << std::flush;
}

}  // namespace cli
