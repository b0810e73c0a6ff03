// SPDX-License-Identifier: Apache-2.0
#include "real/launch/watchdog.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "core/base/fault.h"
#include "real/launch/worker_exit.h"

namespace real {
namespace {

constexpr base::Seconds kBetweenLooks = base::ms(500);
constexpr base::Seconds kToNotice = base::s(10);  // in which a rank that is not stuck says so itself

/// Destructors would wait for the other rank, too.
[[noreturn]] void end(const std::string& why) {
  std::cerr << "error: " << why << std::endl;
  std::_Exit(kWorkerDeviceFailed);
}

}  // namespace

Watchdog::Watchdog(World& world) : world_(world), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(guard_);
    called_off_ = true;
  }
  changed_.notify_all();
}

bool Watchdog::sleep(base::Seconds time) {
  std::unique_lock lock(guard_);
  return !changed_.wait_for(lock, std::chrono::duration<double>(time.si()), [this] { return called_off_; });
}

/// A rank that is held has not told the others; one that was lost has, or its launcher.
void Watchdog::look() {
  if (const char* const call = world_.call->overdue()) {
    const std::string why = fmt::format("rank {} is held by {}: it may wait for another rank, which has not come there",
                                        world_.identity.rank, call);
    world_.store->abort(why);
    end(why);
  }
  world_.store->check();
}

void Watchdog::watch() {
  while (sleep(kBetweenLooks)) {
    try {
      look();
    } catch (const std::exception& error) {
      if (!sleep(kToNotice)) return;
      end(error.what());
    }
  }
}

}  // namespace real
