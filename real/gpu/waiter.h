// real/gpu/waiter.h -- how the host waits for the GPU: never for ever, and never for a rank that is gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "real/cuda/stream.h"
#include "real/launch/world.h"

namespace real {

class Waiter {
 public:
  /// `check` throws when a collective has failed; `give_up` makes the device stop waiting for others.
  Waiter(const World& world, std::function<void()> check, std::function<void()> give_up)
      : world_(world), check_(std::move(check)), give_up_(std::move(give_up)) {}

  /// Beyond `time` the event is waited for no longer, and `otherwise` is said.
  struct Limit {
    base::Seconds time;
    std::string otherwise;
  };

  /// Returns when `event` has happened. Throws base::DeviceError when a rank was lost, and names it; when a collective
  /// failed; when it takes longer than a message may.
  void until(const Event& event) const;
  void until(const Event& event, const Limit&) const;
  /// Makes the device stop waiting, and tells the others: for what fails between two waits.
  void give_up(const std::exception& why) const;

 private:
  void spin(const Event&, const Limit&) const;

  const World& world_;
  std::function<void()> check_, give_up_;
};

}  // namespace real
