// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace base {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body, unsigned threads) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex guard;
  std::size_t lowest = count;
  std::exception_ptr error;
  const auto work = [&] {
    for (std::size_t i; !failed && (i = next++) < count;) {
      try {
        body(i);
      } catch (...) {
        failed = true;
        const std::lock_guard lock(guard);
        if (i < lowest) {
          lowest = i;
          error = std::current_exception();
        }
      }
    }
  };
  {
    std::vector<std::jthread> others;  // joined at the end of this block
    try {
      for (std::size_t t = 1; t < std::min<std::size_t>(threads, count); ++t) others.emplace_back(work);
    } catch (const std::system_error&) {
      // No more threads are to be had: those that are here do it all.
    }
    work();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace base
