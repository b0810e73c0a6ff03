// real/launch/watchdog.h -- ends this process where the libraries that wait for another rank do not return: when that
// rank is lost, or when a call lasts longer than any may. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "real/launch/world.h"

namespace real {

class Watchdog {
 public:
  explicit Watchdog(World&);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch();
  void look();
  /// False once the watchdog is called off.
  bool sleep(base::Seconds);

  World& world_;
  std::mutex guard_;
  std::condition_variable changed_;
  bool called_off_ = false;
  std::jthread thread_;
};

}  // namespace real
