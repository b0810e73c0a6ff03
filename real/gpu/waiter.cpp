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
constexpr base::Seconds kToAnswer = base::s(60);        // for a driver that is asked whether an event has happened
constexpr auto kNap = std::chrono::microseconds(20);

bool happened(const Event& event) {
  const cudaError_t status = cudaEventQuery(event.get());
  if (status == cudaErrorNotReady) return false;
  check(status, "cudaEventQuery");
  return true;
}

}  // namespace

void Waiter::give_up(const std::exception& why) const {
  world_.store->abort(why.what());  // first: giving up may itself wait for the others, who do not know yet
  const HostCall::Scope held(*world_.call, "ncclCommAbort", world_.patience.join);
  give_up_();  // else freeing a communicator would wait for the lost rank
}

void Waiter::until(const Event& event) const {
  const base::Seconds patience = world_.patience.message;
  until(event, {patience, fmt::format("the GPU of rank {} has not finished within {}: it may wait for another rank",
                                      world_.identity.rank, base::human(patience))});
}

void Waiter::until(const Event& event, const Limit& limit) const {
  try {
    spin(event, limit);
  } catch (const std::exception& error) {
    give_up(error);
    throw;
  }
}

void Waiter::spin(const Event& event, const Limit& limit) const {
  if (happened(event)) return;
  const HostCall::Scope held(*world_.call, "a wait for the GPU", limit.time + kToAnswer);
  const Deadline last = Deadline::in(limit.time);
  const Deadline spins = Deadline::in(base::ms(1));
  Deadline next = Deadline::in(kBetweenChecks);
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
    if (last.passed()) throw base::DeviceError(limit.otherwise);
  }
}

}  // namespace real
