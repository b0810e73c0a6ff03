// real/worker/watchdog.h -- ends this process when a rank is lost and the libraries that wait for it do not return:
// joining a communicator, freeing one. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "real/launch/world.h"

namespace worker {

class Watchdog {
 public:
  explicit Watchdog(real::World&);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch();
  /// False once the watchdog is called off.
  bool sleep(base::Seconds);

  real::World& world_;
  std::mutex guard_;
  std::condition_variable changed_;
  bool called_off_ = false;
  std::jthread thread_;
};

}  // namespace worker
