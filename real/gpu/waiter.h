// real/gpu/waiter.h -- how the host waits for the GPU: never for ever, and never for a rank that is gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "real/cuda/stream.h"
#include "real/launch/world.h"

namespace real {

class Waiter {
 public:
  /// `check` throws when a collective has failed; `give_up` makes the device stop waiting for others.
  Waiter(const World& world, std::function<void()> check, std::function<void()> give_up)
      : world_(world), check_(std::move(check)), give_up_(std::move(give_up)) {}

  /// Returns when `event` has happened. Throws base::DeviceError when a rank was lost, and names it; when a collective
  /// failed; when it takes longer than a message may.
  void until(const Event& event) const;

 private:
  const World& world_;
  std::function<void()> check_, give_up_;
};

}  // namespace real
