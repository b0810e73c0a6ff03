// SPDX-License-Identifier: Apache-2.0
#include "real/executor/order.h"

#include <algorithm>

namespace real {

void Order::take_in(Clock& into, const Clock& other) {
  for (int s = 0; s < plan::kStreams; ++s) into[s] = std::max(into[s], other[s]);
}

void Order::begin(const plan::Operator& op, Issued by) {
  Clock& clock = streams_[static_cast<int>(op.stream)];
  take_in(clock, host_);
  for (const plan::EventId event : op.waits) {
    if (event >= 0) take_in(clock, events_[event]);
  }
  now_ = {op.stream, ++clock[static_cast<int>(op.stream)], by};
  extra_ = op.records;
}

void Order::end() {
  events_[plan::event_of(now_.stream)] = clock();
  if (extra_ >= 0) events_[extra_] = clock();
}

void Order::host_waits() { take_in(host_, clock()); }

void Order::wait_for_all() {
  for (const Clock& clock : streams_) take_in(host_, clock);
}

void Order::fail(const std::string& what, const char* does, const char* did, const std::string& who,
                 const std::string& whom) {
  throw RaceError(who + " " + does + " '" + what + "', which " + whom + " " + did +
                  ", and no event puts the one behind the other");
}

}  // namespace real
