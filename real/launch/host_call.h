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
  /// Inside another one it stands for it; when it ends, the other's time begins anew, since the host has gone on.
  class Scope {
   public:
    /// `what`: of static storage.
    Scope(HostCall& call, const char* what, base::Seconds patience)
        : call_(call), outer_(call.innermost_), what_(what), patience_(patience) {
      call_.innermost_ = this;
      begin();
    }
    /// The one opened last is the first to end.
    ~Scope() {
      call_.innermost_ = outer_;
      if (outer_ != nullptr) {
        outer_->begin();
      } else {
        call_.what_.store(nullptr, std::memory_order_release);
      }
    }
    Scope(const Scope&) = delete;

   private:
    /// Nothing is overdue while one takes the other's place.
    void begin() const {
      call_.what_.store(nullptr, std::memory_order_release);
      call_.end_.store(Deadline::in(patience_).end().time_since_epoch().count(), std::memory_order_release);
      call_.what_.store(what_, std::memory_order_release);
    }
    HostCall& call_;
    const Scope* outer_;
    const char* what_;
    base::Seconds patience_;
  };

  /// What the thread is in for longer than it may; null: nothing.
  const char* overdue() const {
    const char* const what = what_.load(std::memory_order_acquire);
    const auto now = Deadline::Clock::now().time_since_epoch().count();
    return what != nullptr && now > end_.load(std::memory_order_acquire) ? what : nullptr;
  }

 private:
  const Scope* innermost_ = nullptr;
  std::atomic<const char*> what_{nullptr};
  std::atomic<Deadline::Clock::rep> end_{0};
};

}  // namespace real
