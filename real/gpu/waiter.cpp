// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/waiter.h"

#include <fmt/format.h>

#include <thread>

#include "core/base/fault.h"
#include "core/base/text.h"
#include "real/launch/deadline.h"

namespace real {
namespace {

constexpr base::Seconds kBetweenChecks = base::ms(50);  // asking for lost ranks takes a lock and, over TCP, a poll

bool happened(const Event& event) {
  const cudaError_t status = cudaEventQuery(event.get());
  if (status == cudaErrorNotReady) return false;
  check(status, "cudaEventQuery");
  return true;
}

}  // namespace

void Waiter::until(const Event& event) const {
  const Deadline last = Deadline::in(world_.patience.message);
  Deadline next = Deadline::in(kBetweenChecks);
  try {
    while (!happened(event)) {
      std::this_thread::yield();
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
  } catch (...) {
    give_up_();  // else freeing a communicator would wait for the lost rank
    throw;
  }
}

}  // namespace real
