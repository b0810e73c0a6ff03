// real/launch/host_call.h -- a call that returns when other ranks have made theirs, and knows no deadline: NCCL's first
// message between two ranks, a launch behind full queues. A watchdog asks how long it lasts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "core/base/units.h"
#include "real/launch/deadline.h"

namespace real {

/// Of the one thread of a rank that calls; overdue() is for any.
class HostCall {
 public:
  class Scope {
   public:
    /// `what`: of static storage.
    Scope(HostCall& call, const char* what, base::Seconds patience) : call_(call) {
      call_.end_.store(Deadline::in(patience).end().time_since_epoch().count(), std::memory_order_relaxed);
      call_.what_.store(what, std::memory_order_release);
    }
    ~Scope() { call_.what_.store(nullptr, std::memory_order_release); }
    Scope(const Scope&) = delete;

   private:
    HostCall& call_;
  };

  /// What the thread is in for longer than it may; null: nothing.
  const char* overdue() const {
    const char* const what = what_.load(std::memory_order_acquire);
    const auto now = Deadline::Clock::now().time_since_epoch().count();
    return what != nullptr && now > end_.load(std::memory_order_relaxed) ? what : nullptr;
  }

 private:
  std::atomic<const char*> what_{nullptr};
  std::atomic<Deadline::Clock::rep> end_{0};
};

}  // namespace real
