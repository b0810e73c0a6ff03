// SPDX-License-Identifier: Apache-2.0
#include "real/launch/mailbox.h"

namespace real {

void Mailbox::post(int from, Channel channel, Blob message) {
  {
    const std::lock_guard lock(guard_);
    messages_[{from, channel}].push_back(std::move(message));
  }
  changed_.notify_all();
}

void Mailbox::close(int from) {
  {
    const std::lock_guard lock(guard_);
    closed_[static_cast<std::size_t>(from)] = 1;
  }
  changed_.notify_all();
}

bool Mailbox::closed(int from) const {
  const std::lock_guard lock(guard_);
  return closed_[static_cast<std::size_t>(from)] != 0;
}

std::optional<Blob> Mailbox::take(int from, Channel channel, Deadline until) {
  std::unique_lock lock(guard_);
  std::deque<Blob>& queue = messages_[{from, channel}];  // stays where it is: map nodes do not move
  changed_.wait_until(lock, until.end(),
                      [&] { return !queue.empty() || closed_[static_cast<std::size_t>(from)] != 0; });
  if (queue.empty()) return std::nullopt;
  Blob first = std::move(queue.front());
  queue.pop_front();
  return first;
}

}  // namespace real
