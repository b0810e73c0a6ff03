// real/gpu/drive_faults.h -- what went wrong on a drive while CUDA's thread read or wrote it, where nothing can be
// thrown: told to the rank at the end of its step. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <mutex>
#include <utility>

namespace real {

class DriveFaults {
 public:
  template <class Work>
  void run(Work work) noexcept {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(guard_);
      if (!first_) first_ = std::current_exception();
    }
  }
  /// Throws what was caught first.
  void check() {
    const std::lock_guard lock(guard_);
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
  }

 private:
  std::mutex guard_;
  std::exception_ptr first_;
};

}  // namespace real
