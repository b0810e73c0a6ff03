// SPDX-License-Identifier: Apache-2.0
#include "real/worker/watchdog.h"

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "core/base/fault.h"
#include "real/launch/worker_exit.h"

namespace worker {
namespace {

constexpr base::Seconds kBetweenLooks = base::ms(500);
constexpr base::Seconds kToNotice = base::s(10);  // in which a rank that is not stuck says so itself

}  // namespace

Watchdog::Watchdog(real::World& world) : world_(world), thread_([this] { watch(); }) {}

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

void Watchdog::watch() {
  while (sleep(kBetweenLooks)) {
    try {
      world_.store->check();
    } catch (const std::exception& error) {
      if (!sleep(kToNotice)) return;
      std::cerr << "error: " << error.what() << std::endl;
      std::_Exit(real::kWorkerDeviceFailed);  // destructors would wait for the lost rank, too
    }
  }
}

}  // namespace worker
