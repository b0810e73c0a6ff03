// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/waiter.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "core/base/fault.h"
#include "core/base/text.h"
#include "real/launch/deadline.h"

namespace real {
namespace {

constexpr base::Seconds kBetweenChecks = base::ms(50);  // asking for lost ranks takes a lock and, over TCP, a poll
constexpr auto kNap = std::chrono::microseconds(20);

bool happened(const Event& event) {
  const cudaError_t status = cudaEventQuery(event.get());
  if (status == cudaErrorNotReady) return false;
  check(status, "cudaEventQuery");
  return true;
}

}  // namespace

void Waiter::until(const Event& event) const {
  const Deadline last = Deadline::in(world_.patience.message);
  const Deadline spins = Deadline::in(base::ms(1));
  Deadline next = Deadline::in(kBetweenChecks);
  try {
    while (!happened(event)) {
      if (spins.passed()) {  // short waits are not made longer, long ones leave the core to whoever else has work
        std::this_thread::sleep_for(kNap);
      } else {
        std::this_thread::yield();
      }
      if (!next.passed()) continue;
      next = Deadline::in(kBetweenChecks);
      world_.store->check();
      check_();
      if (last.passed()) {
        throw base::DeviceError(
            fmt::format("the GPU of rank {} has not finished within {}: it may wait for another rank",
                        world_.identity.rank, base::human(world_.patience.message)));
      }
    }
  } catch (const std::exception& error) {
    world_.store->abort(error.what());  // first: giving up may itself wait for the others, who do not know yet
    give_up_();                         // else freeing a communicator would wait for the lost rank
    throw;
  }
}

}  // namespace real
