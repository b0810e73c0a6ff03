// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/card_watch.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace real {

CardWatch::CardWatch(ReadCard read, base::Seconds between) {
  if (!read) return;
  thread_ = std::jthread(
      [this, read = std::move(read), between](const std::stop_token& over) { watch(over, read, between); });
}

void CardWatch::watch(const std::stop_token& over, const ReadCard& read, base::Seconds between) {
  std::mutex guard;
  std::condition_variable_any never;
  do {
    try {
      readings_.push_back(read());
    } catch (...) {
      if (readings_.empty()) {
        failure_ = std::current_exception();
        return;
      }
    }
    std::unique_lock lock(guard);
    never.wait_for(lock, over, std::chrono::duration<double>(between.si()), [] { return false; });
  } while (!over.stop_requested());
}

Condition CardWatch::end() {
  if (!thread_.joinable()) return {};
  thread_.request_stop();
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
  return summary_of(readings_);
}

}  // namespace real
